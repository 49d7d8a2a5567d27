import { describe, expect, it } from "vitest";
import { z } from "zod";
import { ConfigurationError } from "../../src/core/errors.ts";
import { completionRule } from "../../src/core/turn/completion.ts";
import { planSlice } from "../../src/session/plan.ts";
import { planTools } from "../../src/session/plan-tools.ts";
import { PLANNING_GUIDANCE, type PlanningStrategy } from "../../src/session/planning-guidance.ts";
import { dynamic, markdown, planning, type Section } from "../../src/session/prompt-section.ts";
import { promptTemplate } from "../../src/session/prompt-template.ts";
import { Session } from "../../src/session/session.ts";

const session = new Session({ id: "s", createdAt: 0, slices: [planSlice] });
const parameters = z.object({
  name: z.string().optional(),
  count: z.number().optional(),
  list: z.array(z.string()).optional(),
  _x1: z.string().optional(),
});

function rendered(template: string, params: z.infer<typeof parameters> = {}): string {
  const section = markdown({ key: "text", title: "T", template });
  const prompt = promptTemplate({ namespace: "a", key: "b", version: 1, parameters, sections: [section] });
  return prompt.render(session, params).replace("## T\n\n", "");
}

describe("a markdown section", () => {
  it.each([
    ["Hello $name.", "Hello Ada."],
    ["Hello ${name}s.", "Hello Adas."],
    ["$name$name", "AdaAda"],
    ["${name}${count}", "Ada3"],
    ["Take $count of $list", 'Take 3 of ["a","b"]'],
    ["$_x1", "under"],
    ["$$name costs $$5", "$name costs $5"],
    ["$$$name", "$Ada"],
    ["$5 and $ and 7$", "$5 and $ and 7$"],
    ["no parameter", "no parameter"],
  ])("renders %j as %j", (template, text) => {
    expect(rendered(template, { name: "Ada", count: 3, list: ["a", "b"], _x1: "under" })).toBe(text);
  });

  it("fills values in verbatim: a dollar in a value is only a dollar", () => {
    expect(rendered("Say $name.", { name: "$count ${count} $$ $& $1" })).toBe(
      "Say $count ${count} $$ $& $1.",
    );
  });

  it.each(["${}", "${two words}", "${a-b}", "${1}"])("refuses %s, which names no parameter", (found) => {
    const make = () => markdown({ key: "text", title: "T", template: `See ${found} there` });
    expect(make).toThrow(ConfigurationError);
    expect(make).toThrow(`The template of section text has ${found}, which names no parameter`);
  });
});

describe("every section", () => {
  const make = (change: object) =>
    markdown({ key: "rules", title: "Rules", template: "Be kind.", ...change });

  it.each<[string, object, RegExp]>([
    ["an empty key", { key: "" }, /cannot be a section's key/],
    ["an odd key", { key: "a b" }, /cannot be a section's key/],
    ["no title", { title: undefined }, /rules needs a title/],
    ["an empty title", { title: " " }, /rules needs a title/],
    ["no template", { template: undefined }, /rules needs a template/],
    ["another visibility", { visibility: "hidden" }, /"full" or "summary"/],
    ["a missing summary", { visibility: "summary" }, /rules needs a summary/],
    ["an empty summary", { visibility: "summary", summary: " " }, /rules needs a summary/],
    ["an enabled that is not a function", { enabled: true }, /enabled of section rules is not a function/],
  ])("is refused with %s", (_what, change, message) => {
    expect(() => make(change)).toThrow(ConfigurationError);
    expect(() => make(change)).toThrow(message);
  });

  it("is full and always shown by default", () => {
    expect(make({})).toMatchObject({ visibility: "full", summary: null });
    expect(make({}).isEnabled(session, {})).toBe(true);
  });
});

describe("a dynamic section", () => {
  it("is refused without a function", () => {
    expect(() => dynamic({ key: "a", title: "A", render: "text" as never })).toThrow(ConfigurationError);
  });

  it("brings the slices that it reads", () => {
    expect(dynamic({ key: "a", title: "A", slices: [planSlice], render: () => "" }).slices).toEqual([
      planSlice,
    ]);
  });
});

describe("the planning section", () => {
  const strategies = Object.keys(PLANNING_GUIDANCE) as PlanningStrategy[];
  const textOf = (section: Section<unknown>) => section.render(session, {});

  it("brings the plan's slice and its tools", () => {
    expect(planning()).toMatchObject({ key: "planning", title: "Planning" });
    expect(planning().slices).toEqual([planSlice]);
    expect(planning().tools).toEqual(planTools());
    expect(planning({ key: "how", title: "How to work" })).toMatchObject({
      key: "how",
      title: "How to work",
    });
  });

  it("has its own text for each strategy, and the requirement in all of them", () => {
    expect(strategies).toEqual(["react", "plan_act_reflect", "goal_decompose_route_synthesise"]);
    const texts = strategies.map((strategy) => textOf(planning({ strategy })));
    expect(new Set(texts).size).toBe(3);
    for (const text of texts) {
      expect(text).toContain("### Planning Requirement");
      expect(text).toContain("Always start with `planning_setup_plan` to define the objective");
      expect(text).toContain("Skipping planning means progress cannot be saved if interrupted.");
    }
    expect(textOf(planning())).toBe(textOf(planning({ strategy: "plan_act_reflect" })));
  });

  it("does not ask for a word that would end the agent's work", () => {
    for (const strategy of strategies)
      expect(completionRule("auto", textOf(planning({ strategy })), null).asksForSignal).toBe(false);
  });

  it("refuses an unknown strategy", () => {
    const make = () => planning({ strategy: "toString" as never });
    expect(make).toThrow(ConfigurationError);
    expect(make).toThrow(/is no planning strategy: use one of react, /);
  });
});
