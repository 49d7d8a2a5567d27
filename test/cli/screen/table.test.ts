import { describe, expect, it } from "vitest";
import { widthOf } from "../../../src/cli/context/terminal-text.ts";
import { formatFacts, formatTable } from "../../../src/cli/screen/table.ts";
import { recordingContext } from "../recording-context.ts";

type Sample = { readonly id: string; readonly status: string; readonly note: string; readonly count: string };

const rows: readonly Sample[] = [
  { id: "q-1", status: "waiting", note: "May send_email run with these arguments?", count: "7" },
  { id: "a-longer-id", status: "succeeded", note: "日本語テキスト", count: "1,234" },
];

function table(columns: number, samples = rows, isTerminal = true): string {
  return formatTable(
    recordingContext({ columns, isTerminal }).context,
    [
      { title: "id", value: ({ id }) => id, rank: 0 },
      { title: "status", value: ({ status }) => status, rank: 0 },
      { title: "note", value: ({ note }) => note, rank: 1, atLeast: 8 },
      { title: "count", value: ({ count }) => count, rank: 2, align: "right" },
    ],
    samples,
  );
}

describe("a table", () => {
  it("shows every column in full if there is room", () => {
    expect(table(100)).toBe(
      [
        "id           status     note                                      count",
        "q-1          waiting    May send_email run with these arguments?      7",
        "a-longer-id  succeeded  日本語テキスト                            1,234",
        "",
      ].join("\n"),
    );
  });

  it("cuts the columns that may be cut", () => {
    expect(table(50).split("\n")[1]).toBe("q-1          waiting    May send_email run…      7");
  });

  it("leaves out the least important column if cutting is not enough", () => {
    expect(table(36).split("\n")[0]).toBe("id           status     note");
  });

  it("uses a few lines per row if not even the important columns fit", () => {
    const long = "01a1e31c-b673-755e-bf30-ed6d26fb47db";
    const lines = table(40, [{ ...rows[0], id: long } as Sample]).split("\n");
    expect(lines.slice(0, 3)).toEqual([long, "  status  waiting", "  note    May send_email run with these"]);
  });

  it.each([20, 30, 40, 60, 80, 200])("is never wider than %i columns", (columns) => {
    const lines = table(columns).split("\n");
    expect(lines.length).toBeGreaterThan(3);
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns);
  });

  it("never cuts an id: it is there to be copied", () => {
    for (const columns of [20, 40, 80]) expect(table(columns)).toContain("a-longer-id");
  });

  it("is whole if it is not printed on a terminal", () => {
    const note = "May send_email run with these arguments? ".repeat(5).trim();
    const lines = table(30, [{ ...rows[0], note } as Sample, ...rows.slice(1)], false).split("\n");
    expect(lines[0]).toMatch(/^id +status +note +count$/);
    expect(lines[1]).toBe(`q-1          waiting    ${note}      7`);
    // Not padded to the long note.
    expect(lines[2]).toBe(`a-longer-id  succeeded  ${"日本語テキスト".padEnd(80 - 7)}  1,234`);
  });

  it("leaves out an empty column", () => {
    const silent = rows.map((row) => ({ ...row, count: "" }));
    expect(table(100, silent).split("\n")[0]).not.toContain("count");
  });

  it("shows control characters in a cell as symbols", () => {
    expect(table(100, [{ id: "x", status: "ok", note: "\u001b[31mred\n", count: "1" }])).toContain(
      "␛[31mred⏎",
    );
  });
});

describe("facts", () => {
  it("are wrapped below their value, not below their label", () => {
    const { context } = recordingContext({ columns: 24, isTerminal: true });
    expect(formatFacts(context, [["what", "one two three four"], null, ["why", "because"]])).toBe(
      "  what  one two three\n        four\n  why   because\n",
    );
  });

  it("are not wrapped if they are not printed on a terminal", () => {
    const { context } = recordingContext({ columns: 24 });
    expect(formatFacts(context, [["what", "one two three four"]])).toBe("  what  one two three four\n");
  });
});
