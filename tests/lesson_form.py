"""The form of a lesson."""

NOT_YET = {
    "01_bigrams",
    "02_mlp_batchnorm",
    "03_manual_backprop",
    "04_wavenet",
    "05_tokenization",
    "06_gpt",
    "07_time_series_transformers",
    "08_informer",
}
"""Lessons that are not rewritten yet; only ever fewer."""
