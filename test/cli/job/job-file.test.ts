import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { type JobFormat, parseJob, readJobFile } from "../../../src/cli/job/job-file.ts";
import { JobFileError } from "../../../src/cli/job/job-file-error.ts";
import { readJson } from "../../../src/cli/job/job-file-json.ts";
import { PawlError } from "../../../src/core/errors.ts";
import { parseRunSpec } from "../../../src/core/job/run-spec.ts";
import { type Mistaken, mistakenYaml } from "./job-file-mistakes.ts";
import { mistakenJson, mistakenYamlSyntax } from "./job-syntax-mistakes.ts";

const folder = mkdtempSync(join(tmpdir(), "pawl-job-file-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function errorOf(text: string, format: JobFormat = "yaml"): JobFileError {
  try {
    parseJob(text, format, `job.${format}`);
  } catch (error) {
    if (JobFileError.isInstance(error)) return error;
    throw error;
  }
  throw new Error("The job file was accepted.");
}

/** As the table has them. */
function problemsOf(text: string, format: JobFormat): readonly string[] {
  return errorOf(text, format).details.problems.map(({ line, column, path, message }) =>
    line === null ? message : `${line}:${column}  ${path === "" ? "" : `${path}: `}${message}`,
  );
}

describe("a job file that cannot be used", () => {
  it.each<Mistaken>([...mistakenYaml, ...mistakenYamlSyntax])(
    "as YAML with %s is refused with all that is wrong",
    (_, lines, problems) => {
      expect(problemsOf(lines.join("\n"), "yaml")).toEqual(problems);
    },
  );

  it.each<Mistaken>(mistakenJson)(
    "as JSON with %s is refused with all that is wrong",
    (_, lines, problems) => {
      expect(problemsOf(lines.join("\n"), "json")).toEqual(problems);
    },
  );

  it("locates each mistake on its own line, below one that names the file", () => {
    const error = errorOf("objective: Do it\nbudgets:\n  max_steps: 0\npipeline: a/b\n");
    expect(error).toBeInstanceOf(PawlError);
    expect(error.code).toBe("job_file");
    expect(error.recoverable).toBe(false);
    expect(error.message.split("\n")).toEqual([
      "job.yaml has 2 mistakes:",
      "job.yaml:3:3  budgets.max_steps: must be a whole number from 1 to 1000000, or null for no limit, not 0.",
      'job.yaml:4:1  pipeline: must be the name of a pipeline, 1 to 100 characters without "/", "#", "[", "]" or spaces at its ends, not the text "a/b".',
    ]);
    expect(error.details.file).toBe("job.yaml");
    expect(error.details.problems[0]).toEqual({
      line: 3,
      column: 3,
      path: "budgets.max_steps",
      message: "must be a whole number from 1 to 1000000, or null for no limit, not 0.",
    });
  });

  it("keeps its message short with many mistakes, and its details complete", () => {
    const keys = Array.from({ length: 80 }, (_, index) => `zz${index}: 1`);
    const error = errorOf(["objective: Do it", ...keys].join("\n"));
    expect(error.details.problems).toHaveLength(80);
    expect(error.message.split("\n")).toHaveLength(52);
    expect(error.message).toMatch(/\n… and 30 more\.$/);
  });

  it("counts lines correctly in a file from Windows", () => {
    expect(problemsOf("objective: Do it\r\nbudgets:\r\n  max_steps: 0\r\n", "yaml")[0]).toMatch(/^3:3 {2}/);
  });

  it.each([
    ["brackets", (depth: number) => `objective: x\ninput: ${"[".repeat(depth)}${"]".repeat(depth)}\n`],
    ["objects", (depth: number) => `objective: x\ninput: ${"{a: ".repeat(depth)}1${"}".repeat(depth)}\n`],
  ])("is refused in one sentence when its %s are nested too deeply to be read", (_, nested) => {
    for (const depth of [600, 5_000]) {
      const { problems } = errorOf(nested(depth)).details;
      expect(problems).toHaveLength(1);
      expect(problems[0]?.message).toMatch(/nested (?:too deeply|deeper than 500 levels)/);
    }
  });

  it("is refused as JSON in one sentence when it is nested too deeply", () => {
    const nested = `{"objective": "x", "input": ${"[".repeat(20_000)}${"]".repeat(20_000)}}`;
    expect(problemsOf(nested, "json")).toEqual([
      "1:529  This is nested deeper than 500 levels: make it flatter.",
    ]);
  });

  it("is refused when it has more aliases than a job needs", () => {
    expect(problemsOf(`objective: x\ninput:\n  - &a 1\n${"  - *a\n".repeat(101)}`, "yaml")).toEqual([
      "104:5  input[101]: is alias 101 of this file, and at most 100 are allowed.",
    ]);
  });

  it("is refused when its aliases expand to megabytes", () => {
    const text = `objective: x\ninput:\n  - &a ${"x".repeat(20_000)}\n${"  - *a\n".repeat(60)}`;
    expect(problemsOf(text, "yaml")).toEqual([
      "1:1  The aliases of this file expand to too much: write the values out.",
    ]);
  });
});

const example = {
  objective: "Create a research report from N URLs and email it to X",
  constraints: {
    must_cite_sources: true,
    forbidden_actions: ["delete_*"],
    allowedDomains: ["*.example.com"],
  },
  budgets: { max_wallclock_minutes: 90, maxSteps: 50, max_cost_usd: 0.5 },
  stop_conditions: ["report_pdf_created", "email_sent_once"],
  artifacts: { workspace_dir: "RUNS/session_<id>/", expected_outputs: ["report.html", "report.pdf"] },
  input: { urls: ["https://example.com/a"], when: "2026-11-16", "a b": [null, true, 1.5e3] },
};

describe("a job file", () => {
  it("means the same as YAML and as JSON, in either spelling", () => {
    const expected = parseRunSpec(example);
    if (!expected.ok) throw new Error("The example is wrong.");
    const snake = `
# yaml-language-server: $schema=./run-spec.schema.json
objective: Create a research report from N URLs and email it to X
constraints:
  must_cite_sources: true
  forbidden_actions: ["delete_*"]
  allowed_domains:
    - "*.example.com"
budgets: { max_wallclock_minutes: 90, max_steps: 50, max_cost_usd: 0.5 }
stop_conditions: [report_pdf_created, email_sent_once]
artifacts:
  workspace_dir: RUNS/session_<id>/
  expected_outputs: [report.html, report.pdf]
input:
  urls: [https://example.com/a]
  when: 2026-11-16
  a b: [~, true, 1.5e3]
`;
    const camel = snake.replace(/\b[a-z]+(?:_[a-z]+)+(?=:)/g, (name) =>
      name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    );
    expect(camel).toContain("mustCiteSources");
    for (const text of [snake, camel, snake.replaceAll("\n", "\r\n")]) {
      expect(parseJob(text, "yaml", "job.yaml")).toEqual({ path: "job.yaml", spec: expected.spec });
    }
    for (const indent of [undefined, 2, "\t"]) {
      const text = JSON.stringify({ $schema: "./run-spec.schema.json", ...example }, null, indent);
      expect(parseJob(text, "json", "job.json")).toEqual({ path: "job.json", spec: expected.spec });
    }
  });

  it("may use null for no limit", () => {
    const { spec } = parseJob(
      "objective: x\nbudgets: {max_steps: null, max_tokens: ~}\n",
      "yaml",
      "job.yaml",
    );
    expect(spec.budgets.maxSteps).toBeNull();
  });

  it("may use anchors, each use of which is a separate value", () => {
    const text = "objective: x\ninput:\n  base: &base {a: [1]}\n  first: *base\n  second: *base\n";
    const { spec } = parseJob(text, "yaml", "job.yaml");
    expect(spec.input).toEqual({ base: { a: [1] }, first: { a: [1] }, second: { a: [1] } });
    const input = spec.input as { readonly first: object; readonly second: object };
    expect(input.first).not.toBe(input.second);
  });

  it("may have any JSON as its input, including an empty value and a quoted <<", () => {
    const text = 'objective: x\ninput:\n  nothing:\n  "<<": {a: 1}\n  &name key: 1\n  same: *name\n';
    const { spec } = parseJob(text, "yaml", "job.yaml");
    expect(spec.input).toEqual({ nothing: null, "<<": { a: 1 }, key: 1, same: "key" });
    expect(parseJob("objective: x\ninput:\n", "yaml", "job.yaml").spec.input).toBeNull();
  });

  it("keeps strings that only look like a date, a duration or a YAML 1.1 boolean", () => {
    const text = "objective: x\ninput: [2026-01-01, 12:30:45, yes, off, 0o17, 0x1f, 1_000, 08]\n";
    const { spec } = parseJob(text, "yaml", "job.yaml");
    expect(spec.input).toEqual(["2026-01-01", "12:30:45", "yes", "off", 15, 31, "1_000", 8]);
  });

  it("is not read as YAML 1.1 even if it declares it", () => {
    const { spec } = parseJob("%YAML 1.1\n---\nobjective: x\ninput: [yes, 2026-01-01]\n", "yaml", "job.yaml");
    expect(spec.input).toEqual(["yes", "2026-01-01"]);
  });

  it("keeps a field of the input that every object has", () => {
    const text = '{"objective": "x", "input": {"__proto__": {"a": 1}}}';
    for (const format of ["json", "yaml"] as const) {
      const { input } = parseJob(text, format, "job").spec;
      expect(JSON.stringify(input)).toBe('{"__proto__":{"a":1}}');
    }
  });

  it("is read from disk by its extension", async () => {
    for (const [name, text] of [
      ["job.yaml", "objective: x\n"],
      ["job.yml", "objective: x\n"],
      ["JOB.YAML", "objective: x\n"],
      ["job.json", '{"objective": "x"}'],
    ] as const) {
      const path = join(folder, name);
      writeFileSync(path, text);
      const job = await readJobFile(path);
      expect(job.path).toBe(path);
      expect(job.spec.objective).toBe("x");
    }
  });
});

describe("a file that is not a job file", () => {
  async function refusalOf(name: string): Promise<string> {
    const error: unknown = await readJobFile(join(folder, name)).then(
      () => null,
      (thrown: unknown) => thrown,
    );
    if (!JobFileError.isInstance(error)) throw error;
    expect(error.details.problems).toEqual([{ line: null, column: null, path: "", message: error.message }]);
    return error.message.replaceAll(`${folder}/`, "");
  }

  it.each([
    ["is not there", "missing.yaml", "There is no job file missing.yaml: check its path."],
    [
      "has another ending",
      "job.toml",
      "job.toml is not a job file: give one whose name ends in .yaml, .yml or .json.",
    ],
    ["has no ending", "job", "job is not a job file: give one whose name ends in .yaml, .yml or .json."],
    [
      "is in a file",
      "file.yaml/job.yaml",
      "file.yaml/job.yaml cannot be read (ENOTDIR): check its path and its permissions.",
    ],
    [
      "is a directory",
      "folder.yaml",
      "folder.yaml is a directory: give the file itself, such as folder.yaml/job.yaml.",
    ],
    ["is a pipe", "pipe.yaml", "pipe.yaml is not a regular file: give one that is stored on a disk."],
    [
      "is too large",
      "large.yaml",
      "large.yaml is over 1 MB, too large for a job file: keep large input elsewhere.",
    ],
    ["has bytes that are no text", "latin.yaml", "latin.yaml is not UTF-8 text: save it as UTF-8."],
    ["is UTF-16", "wide.json", "wide.json is not UTF-8 text: save it as UTF-8."],
    [
      "begins with a mark",
      "marked.json",
      "marked.json starts with a byte order mark: save it as UTF-8 without one.",
    ],
    ["is empty", "empty.json", "empty.json is empty: write at least an objective."],
  ])("because it %s is refused in one sentence", async (_, name, message) => {
    writeFileSync(join(folder, "file.yaml"), "objective: x\n");
    mkdirSync(join(folder, "folder.yaml"), { recursive: true });
    if (name === "pipe.yaml") execFileSync("mkfifo", [join(folder, name)]);
    writeFileSync(join(folder, "large.yaml"), `objective: x\n# ${"x".repeat(1024 * 1024)}`);
    writeFileSync(join(folder, "latin.yaml"), Buffer.from("objective: caf\u00e9\n", "latin1"));
    writeFileSync(join(folder, "wide.json"), Buffer.from('\ufeff{"objective": "x"}', "utf16le"));
    writeFileSync(join(folder, "marked.json"), '\ufeff{"objective": "x"}');
    writeFileSync(join(folder, "empty.json"), "");
    expect(await refusalOf(name)).toBe(message);
  });
});

describe("the reader of JSON", () => {
  const pieces = fc.constantFrom(
    ..."{}[]:, \n\t01-.eE\\/'\"".split(""),
    "true",
    "null",
    '"a"',
    '"b":',
    "1.5",
    "\\u00e9",
    "\u007f",
    "\u0001",
  );
  const texts = fc.oneof(
    fc.json({ maxDepth: 4 }),
    fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join("")),
    // JSON with one character replaced: nearly right is where readers differ.
    fc.tuple(fc.json({ maxDepth: 3 }), fc.nat(), pieces).map(([text, at, piece]) => {
      const index = at % (text.length + 1);
      return text.slice(0, index) + piece + text.slice(index + 1);
    }),
  );

  it("accepts what JSON.parse accepts, and nothing else", () => {
    let taken = 0;
    fc.assert(
      fc.property(texts, (text) => {
        const isJson = isParsed(text);
        taken += isJson ? 1 : 0;
        const read = readJson(text);
        expect(read.readable).toBe(isJson);
        if (read.readable) expect(read.value).toEqual(JSON.parse(text));
        else expect(read.mistakes[0]?.offset).toBeLessThanOrEqual(text.length);
      }),
      { numRuns: 2_000 },
    );
    expect(taken).toBeGreaterThan(100);
  });

  function isParsed(text: string): boolean {
    try {
      JSON.parse(text);
      return true;
    } catch {
      return false;
    }
  }
});

describe("any text at all", () => {
  it("is a job, or is refused with a position inside it", () => {
    const lines = fc.constantFrom(
      "objective: x",
      "budgets:",
      "  max_steps: 5",
      "  - a",
      "- &a b",
      "input: *a",
      "'",
      '"',
      "{",
      "]",
      "? a",
      ": b",
      "|",
      "\t",
      "!x",
      "--- ",
      "%TAG ! a:",
      "<<: 1",
      ".nan",
    );
    const texts = fc.oneof(
      fc.string(),
      fc.array(lines, { maxLength: 8 }).map((parts) => parts.join("\n")),
      fc.array(lines, { maxLength: 8 }).map((parts) => parts.join(" ")),
    );
    fc.assert(
      fc.property(texts, fc.constantFrom<JobFormat>("yaml", "json"), (text, format) => {
        try {
          expect(parseJob(text, format, "job").spec.objective).not.toBe("");
        } catch (error) {
          if (!(error instanceof JobFileError)) throw error;
          expect(error.details.problems.length).toBeGreaterThan(0);
          for (const { line } of error.details.problems) {
            expect(line ?? 1).toBeLessThanOrEqual(text.split("\n").length);
            expect(line ?? 1).toBeGreaterThanOrEqual(1);
          }
        }
      }),
      { numRuns: 1_000 },
    );
  });
});
