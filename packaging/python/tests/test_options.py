"""Keywords as words of a command line."""

import unittest

from tapeline.options import words


class Words(unittest.TestCase):
    def test_keywords_are_options(self) -> None:
        self.assertEqual(
            words("db1", {"time": 0.5, "reverse": True, "udp": False, "rate": "10M", "parallel": 2}),
            ["-c", "db1", "-t", "0.5", "-R", "-b", "10M", "-P", "2"],
        )
        self.assertEqual(words("db1", {"options": ["-e"]}), ["-c", "db1", "-e"])

    def test_numbers_have_no_exponents(self) -> None:
        self.assertEqual(words("db1", {"rate": 1e11}), ["-c", "db1", "-b", "100000000000"])
        self.assertEqual(words("db1", {"interval": 1e-3}), ["-c", "db1", "-i", "0.001"])

    def test_an_unknown_keyword_is_named(self) -> None:
        with self.assertRaisesRegex(TypeError, "'duration'.*time"):
            words("db1", {"duration": 1})  # type: ignore[typeddict-unknown-key]

    def test_a_host_is_no_option(self) -> None:
        for host in ("", "-s"):
            with self.assertRaises(ValueError):
                words(host, {})


if __name__ == "__main__":
    unittest.main()
