//! The words that the index leaves out.

/// Function words. They are in almost every passage, so they tell nothing, and
/// leaving them out makes the index a third smaller.
#[rustfmt::skip]
pub const STOP_WORDS: &[&str] = &[
    "a", "about", "above", "after", "again", "all", "also", "am", "an", "and", "any", "are",
    "arent", "as", "at", "be", "because", "been", "before", "being", "below", "between", "both",
    "but", "by", "can", "cannot", "cant", "could", "couldnt", "did", "didnt", "do", "does",
    "doesnt", "doing", "dont", "during", "each", "few", "for", "from", "further", "had", "hadnt",
    "has", "hasnt", "have", "havent", "having", "he", "her", "here", "hers", "herself", "him",
    "himself", "his", "how", "however", "i", "if", "im", "in", "into", "is", "isnt", "it", "its",
    "itself", "ive", "just", "may", "me", "might", "more", "most", "must", "my", "myself", "of",
    "on", "once", "only", "or", "other", "our", "ours", "ourselves", "out", "over", "own", "s",
    "same", "she", "should", "shouldnt", "so", "some", "such", "t", "than", "that", "thats",
    "the", "their", "theirs", "them", "themselves", "then", "there", "these", "they", "this",
    "those", "through", "to", "too", "under", "until", "up", "upon", "very", "was", "wasnt", "we",
    "were", "werent", "what", "when", "where", "whether", "which", "while", "who", "whom",
    "whose", "why", "will", "with", "wont", "would", "wouldnt", "you", "your", "youre", "yours",
    "yourself", "yourselves",
];
