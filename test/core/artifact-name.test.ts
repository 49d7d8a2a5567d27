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
    ["nothing", ""],
    ["no text", 7],
    ["no value", null],
    ["a path to the folder above", "../report.pdf"],
    ["a path that comes out of the folder further in", "a/../../report.pdf"],
    ["the folder above", ".."],
    ["the folder itself", "."],
    ["a part that says nothing", "a/./b"],
    ["an absolute path", "/etc/passwd"],
    ["an empty part", "a//b"],
    ["a folder", "a/"],
    ["a path of another system", "..\\report.pdf"],
    ["a drive", "C:report.pdf"],
    ["a stream of a file", "report.pdf:hidden"],
    ["the note by which the folder is known", ".pawl-run"],
    ["the same where case says nothing", ".Pawl-Run"],
    ["a NUL", "report.pdf\0.txt"],
    ["a line break", "report\n.pdf"],
    ["a control character of the second kind", "report\u0085.pdf"],
    ["a wildcard", "*.pdf"],
    ["a device of Windows", "CON"],
    ["a device with an ending", "notes/nul.txt"],
    ["a device with two endings and a space", "com1 .tar.gz"],
    ["a device by a raised digit", "LPT¹"],
    ["a folder that is a device", "aux/report.pdf"],
    ["a text that turns round", "invoice\u202efdp.exe"],
    ["a space without a width", "report\u200b.pdf"],
    ["a letter that is blank", "report\u3164.pdf"],
    ["a tag that nobody sees", "report\u{e0041}.pdf"],
    ["a variation of a letter that has none", "report\u{e0100}.pdf"],
    ["a variation of another script", "report\u180b.pdf"],
    ["a vowel that is not drawn", "report\u17b4.pdf"],
    ["a pattern of dots without a dot", "report\u2800.pdf"],
    ["a joiner between letters that are not joined", "re\u200dport.pdf"],
    ["what keeps letters apart that are apart", "re\u200cport.pdf"],
    ["the colour of what is no picture", "re\ufe0fport.pdf"],
    ["a character of a font's own", "report\ue000.pdf"],
    ["what Git runs", ".git/hooks/pre-commit"],
    ["the same further in, where case says nothing", "a/.Git/config"],
    ["the same by its short name on Windows", "GIT~1/config"],
    ["a byte order mark", "\ufeffreport.pdf"],
    ["half of a character", "report\ud83d.pdf"],
    ["a part that ends in a dot", "a./b"],
    ["a part that ends in a space", "report.pdf "],
    ["a part that no file system takes", "x".repeat(256)],
    ["a part that no file system takes in UTF-8", "ü".repeat(128)],
    ["a path that is too long", `${"a/".repeat(512)}b`],
  ])("may not be %s", (_what, name) => {
    expect(artifactNameProblem(name)).toMatch(/^[a-z].*[^.]$/);
  });

  it("never leads out of its folder, whatever it is", () => {
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

  it("that Pawl writes itself is one that a workspace can have", () => {
    expect(TELEMETRY_FILES.map(artifactNameProblem)).toEqual(TELEMETRY_FILES.map(() => null));
    expect(TELEMETRY_FILES).toHaveLength(3);
  });
});
