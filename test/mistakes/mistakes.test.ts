// Mistakes that people make, each with the exact message that they get and how good that message is.

import { describe, expect, it } from "vitest";
import { commandMistakes } from "./command-mistakes.ts";
import { definitionMistakes } from "./definition-mistakes.ts";
import { type Grade, type Mistake, messageOf } from "./mistake.ts";
import { outsideMistakes } from "./outside-mistakes.ts";
import { runMistakes } from "./run-mistakes.ts";

const tables: { readonly [name: string]: readonly Mistake[] } = {
  "in agents, tools and steps": definitionMistakes,
  "with runners, stores and runs": runMistakes,
  "with servers, models and built-in tools": outsideMistakes,
  "on the command line and in job files": commandMistakes,
};
const all = Object.values(tables).flat();

describe.each(Object.entries(tables))("a mistake %s", (_, mistakes) => {
  it.each(mistakes.map((mistake) => [mistake.what, mistake] as const))(
    "is explained: %s",
    async (__, mistake) => {
      expect(await messageOf(mistake)).toBe(mistake.says);
    },
  );
});

describe("the messages", () => {
  it("end like sentences, and show nothing of the inside", () => {
    const odd = all.filter(({ says }) => !/[.?:]$/.test(says.split("\n")[0] ?? ""));
    const leaking = all.filter(({ says }) =>
      /Cannot read prop|is not a function|TypeError|\(node:/.test(says),
    );
    expect([...odd, ...leaking].map(({ what }) => what)).toEqual([]);
  });

  it("are at least 60, each about a mistake of its own", () => {
    const count = (grade: Grade) => all.filter((mistake) => mistake.grade === grade).length;
    expect({ "A+": count("A+"), A: count("A"), B: count("B") }).toEqual({ "A+": 47, A: 90, B: 5 });
    expect(new Set(all.map(({ what }) => what)).size).toBe(all.length);
    expect(all.length).toBeGreaterThanOrEqual(60);
  });
});
