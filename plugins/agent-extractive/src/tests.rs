//! The whole way from passages to a reply.
