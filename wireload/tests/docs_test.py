"""That the documentation says what wireload does: every command line in it is accepted, every field
of the document explained.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path
from typing import Any

from servers import CSV_COLUMNS, WIRELOAD, wireload

FOLDER = Path(__file__).resolve().parent.parent
README = (FOLDER / "README.md").read_text(encoding="utf-8")
SCHEMA = json.loads((FOLDER / "schema" / "wireload-1.schema.json").read_text(encoding="utf-8"))


def command_lines(text: str) -> list[str]:
    """Indented lines and code spans that begin with ``wireload`` and name a URL; `...` of the
    examples left out.
    """
    found = [line.strip() for line in text.splitlines() if line.startswith("    wireload ")]
    found += re.findall(r"`(wireload [^`]+)`", text)
    return [line for line in found if "://" in line]


class Readme(unittest.TestCase):
    def test_every_command_line_is_accepted(self) -> None:
        lines = command_lines(README)
        self.assertGreater(len(lines), 20)
        with tempfile.TemporaryDirectory() as folder:
            # The file of requests that stands in the text.
            example = re.findall(r"```json\n(.*?)```", README, re.DOTALL)
            self.assertEqual(len(example), 1)
            Path(folder, "mix.json").write_text(example[0], encoding="utf-8")
            # Offsets as a recording has them.
            Path(folder, "recorded.txt").write_text("0.0\n0.25\n", encoding="utf-8")
            for line in lines:
                with self.subTest(line):
                    words = shlex.split(line.replace("$!", str(os.getpid())))[1:]
                    done = subprocess.run(
                        [WIRELOAD, "--print", "request", *words],
                        capture_output=True,
                        check=False,
                        timeout=30,
                        cwd=folder,
                    )
                    self.assertEqual(done.returncode, 0, done.stderr)
                    self.assertIn(b" HTTP/1.1\r\nHost: ", done.stdout)

    def test_every_flag_it_names_exists_somewhere(self) -> None:
        """In wireload, or in one of the tools of the tables."""
        flags = set(re.findall(r"--[a-z][a-z0-9-]+", wireload("--help").stdout))
        lines = [line for line in README.splitlines() if not line.startswith(("| ", "- **"))]
        for flag in set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]+", "\n".join(lines))) - {
            "--install"
        }:
            self.assertTrue(
                any(one.startswith(flag) for one in flags), flag
            )  # "--expect-..." stands for several

    def test_every_field_of_the_document_is_explained(self) -> None:
        """Each row of the table names the fields below its own."""
        table = README.split("## The JSON document")[1].split("\n## ")[0]
        rows = [line for line in table.splitlines() if line.startswith("| `")]
        for name, schema in SCHEMA["properties"].items():
            row = next((row for row in rows if f"`{name}`" in row.split("|")[1]), None)
            self.assertIsNotNone(
                row, f"README.md, the table of the JSON document: {name} has no row"
            )
            for field in self.fields(schema):
                self.assertIn(
                    f"`{field}`",
                    row or "",
                    f"README.md, the table of the JSON document: {name} does not explain {field}",
                )

    def fields(self, schema: dict[str, Any]) -> set[str]:
        """Names of properties, at any depth; what is defined once is explained once."""
        if "$ref" in schema:
            kind = schema["$ref"].removeprefix("#/$defs/")
            return set() if kind in self.elsewhere else self.fields(SCHEMA["$defs"][kind])
        found: set[str] = set()
        for part in [*schema.get("anyOf", []), *([schema["items"]] if "items" in schema else [])]:
            found |= self.fields(part)
        for name, part in schema.get("properties", {}).items():
            found |= {name} | self.fields(part)
        return found

    elsewhere: frozenset[str] = frozenset()

    def setUp(self) -> None:
        # Rows of their own: latency, errors, server.
        self.elsewhere = frozenset({"latency", "maybe_latency", "errors", "server"})

    def test_the_shared_definitions_are_explained(self) -> None:
        table = README.split("## The JSON document")[1].split("\n## ")[0]
        for kind in ("latency", "errors", "server"):
            self.elsewhere = frozenset()
            for field in self.fields(SCHEMA["$defs"][kind]) - {
                "50",
                "75",
                "90",
                "99",
                "99.9",
                "99.99",
            }:
                self.assertIn(f"`{field}`", table)

    def test_columns_of_the_csv(self) -> None:
        section = next(line for line in README.splitlines() if line.startswith("- `--csv"))
        for column in CSV_COLUMNS:
            self.assertIn(f"`{column}`", section)


class Manual(unittest.TestCase):
    def test_it_is_clean_roff(self) -> None:
        if (groff := shutil.which("groff")) is None:
            self.skipTest("groff is not installed")
        page = wireload("--manual").stdout
        done = subprocess.run(
            [groff, "-man", "-ww", "-Tutf8", "-z"],
            input=page,
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class Completion(unittest.TestCase):
    def words(self, *typed: str) -> list[str]:
        script = (
            f'eval "$({shlex.quote(WIRELOAD)} --completion bash)"; '
            'COMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _wireload; '
            'printf "%s\\n" "${COMPREPLY[@]}"'
        )
        done = subprocess.run(
            ["bash", "-c", script, "bash", *typed],
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        )
        return done.stdout.split()

    def test_bash(self) -> None:
        self.assertEqual(self.words("wireload", "--che"), ["--check"])
        self.assertEqual(self.words("wireload", "--check", ""), ["echo", "count", "none"])
        self.assertEqual(self.words("wireload", "--check", "=", "c"), ["count"])
        self.assertEqual(self.words("wireload", "-c", ""), [])
        self.assertIn("http://", self.words("wireload", "ht"))

    def test_fish(self) -> None:
        if (fish := shutil.which("fish")) is None:
            self.skipTest("fish is not installed")
        script = (
            f"{shlex.quote(WIRELOAD)} --completion fish | source; complete -C 'wireload --check '"
        )
        done = subprocess.run(
            [fish, "--no-config", "-c", script],
            capture_output=True,
            text=True,
            check=True,
            timeout=30,
        )
        self.assertEqual(
            {line.split()[0] for line in done.stdout.splitlines()}, {"echo", "count", "none"}
        )

    def test_zsh_takes_the_script(self) -> None:
        if (zsh := shutil.which("zsh")) is None:
            self.skipTest("zsh is not installed")
        completion = f"{shlex.quote(WIRELOAD)} --completion zsh"
        script = f'_arguments() {{ print -l -- "$@"; }}; eval "$({completion})"'
        done = subprocess.run(
            [zsh, "-f", "-c", script], capture_output=True, text=True, check=True, timeout=30
        )
        self.assertIn(":KIND:(echo count none)", done.stdout)
        self.assertEqual(done.stderr, "")


if __name__ == "__main__":
    unittest.main()
