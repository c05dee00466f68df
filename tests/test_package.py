"""The package as a whole."""

import gumdp


def test_every_public_name_is_there_and_documented() -> None:
    for name in gumdp.__all__:
        assert getattr(gumdp, name).__doc__, name
