import { posix } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { artifactNameProblem, TELEMETRY_FILES } from "../../src/core/artifact-name.ts";

describe("the name of an artifact", () => {
  it.each([
    "report.pdf",
    "pages/1/index.html",
    "Bericht für Jürgen.md",
    "報告.md",
    "..report",
    "console.log",
    "auxiliary/common.md",
    "می‌خواهم.md",
    "👩‍💻.md",
    "a..b/c...d",
    ".hidden",
    ".gitignore",
    "❤️.md",
    "-rf",
    "a b/c",
    "x".repeat(255),
    TELEMETRY_FILES.join("/"),
  ])("may be %j", (name) => {
    expect(artifactNameProblem(name)).toBeNull();
  });

  it.each([
    ["empty", ""],
    ["a number", 7],
    ["null", null],
    ["a path to the parent folder", "../report.pdf"],
    ["a path that leaves a nested folder", "a/../../report.pdf"],
    ["the parent folder", ".."],
    ["the folder itself", "."],
    ["a path with a dot segment", "a/./b"],
    ["an absolute path", "/etc/passwd"],
    ["a path with an empty segment", "a//b"],
    ["a folder", "a/"],
    ["a path with backslashes", "..\\report.pdf"],
    ["a path with a drive letter", "C:report.pdf"],
    ["a Windows file stream", "report.pdf:hidden"],
    ["the marker file of the run's folder", ".pawl-run"],
    ["the marker file in another case", ".Pawl-Run"],
    ["a NUL", "report.pdf\0.txt"],
    ["a line break", "report\n.pdf"],
    ["a C1 control character", "report\u0085.pdf"],
    ["a wildcard", "*.pdf"],
    ["a Windows device", "CON"],
    ["a Windows device with an extension", "notes/nul.txt"],
    ["a Windows device with two extensions and a space", "com1 .tar.gz"],
    ["a Windows device with a superscript digit", "LPT¹"],
    ["a folder named like a Windows device", "aux/report.pdf"],
    ["a right-to-left override", "invoice\u202efdp.exe"],
    ["a zero-width space", "report\u200b.pdf"],
    ["a blank letter", "report\u3164.pdf"],
    ["an invisible tag character", "report\u{e0041}.pdf"],
    ["a variation selector on a letter without variants", "report\u{e0100}.pdf"],
    ["a variation selector of another script", "report\u180b.pdf"],
    ["an invisible vowel", "report\u17b4.pdf"],
    ["a blank Braille pattern", "report\u2800.pdf"],
    ["a joiner between letters that do not join", "re\u200dport.pdf"],
    ["a non-joiner between letters that do not join", "re\u200cport.pdf"],
    ["an emoji selector on a letter", "re\ufe0fport.pdf"],
    ["a private use character", "report\ue000.pdf"],
    ["a path that Git runs", ".git/hooks/pre-commit"],
    ["a nested Git folder in another case", "a/.Git/config"],
    ["the Windows short name of a Git folder", "GIT~1/config"],
    ["a byte order mark", "\ufeffreport.pdf"],
    ["a lone surrogate", "report\ud83d.pdf"],
    ["a segment that ends in a dot", "a./b"],
    ["a segment that ends in a space", "report.pdf "],
    ["a segment that is too long for file systems", "x".repeat(256)],
    ["a segment that is too long for file systems in UTF-8", "ü".repeat(128)],
    ["a path that is too long", `${"a/".repeat(512)}b`],
  ])("may not be %s", (_what, name) => {
    expect(artifactNameProblem(name)).toMatch(/^[a-z].*[^.]$/);
  });

  it("never leads out of its folder", () => {
    const part = fc.constantFrom("..", ".", "", "a", "b.", "c ", "...", "~", "\\", "\0", "é");
    const name = fc.array(part, { minLength: 1, maxLength: 6 }).map((parts) => parts.join("/"));
    fc.assert(
      fc.property(name, (given) => {
        const isRefused = artifactNameProblem(given) !== null;
        const resolved = posix.resolve("/here", given);
        return isRefused || resolved.startsWith("/here/");
      }),
    );
  });

  it("is valid for the files that Pawl itself writes", () => {
    expect(TELEMETRY_FILES.map(artifactNameProblem)).toEqual(TELEMETRY_FILES.map(() => null));
    expect(TELEMETRY_FILES).toHaveLength(3);
  });
});
