//! Every way a cycle can go, with a clock that waits for nobody.
