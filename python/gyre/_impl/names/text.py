"""Texts taken apart, put together and hashed."""

_T = "gyre._impl.text."
_SPLIT = (
    "split",
    "bytes_split",
    "substr",
    "reduce_join",
    "unsorted_segment_join",
    "ngrams",
    "to_hash_bucket",
    "to_hash_bucket_fast",
    "to_hash_bucket_strong",
)
_UNICODE = (
    "unicode_decode",
    "unicode_decode_with_offsets",
    "unicode_split",
    "unicode_split_with_offsets",
    "unicode_encode",
    "unicode_transcode",
)
NAMES = {
    **{f"strings.{name}": f"{_T}split:{name}" for name in _SPLIT},
    **{f"strings.{name}": f"{_T}unicode:{name}" for name in _UNICODE},
    **{
        f"compat.v1.{old}": f"{_T}split:{new}"
        for old, new in (
            ("substr", "substr"),
            ("string_to_hash_bucket", "to_hash_bucket"),
            ("string_to_hash_bucket_fast", "to_hash_bucket_fast"),
            ("string_to_hash_bucket_strong", "to_hash_bucket_strong"),
        )
    },
}
