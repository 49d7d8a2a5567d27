import { describe, expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { ConfigurationError, NotJsonError } from "../../src/core/errors.ts";
import { planSlice, setupPlan } from "../../src/session/plan.ts";
import { planTools } from "../../src/session/plan-tools.ts";
import { dynamic, markdown, planning } from "../../src/session/prompt-section.ts";
import {
  type BoundPrompt,
  isBoundPrompt,
  isPromptTemplate,
  type PromptTemplate,
  promptTemplate,
} from "../../src/session/prompt-template.ts";
import { Session } from "../../src/session/session.ts";
import { defineSlice } from "../../src/session/slice.ts";

const session = new Session({ id: "s-1", createdAt: 0, slices: [planSlice], tags: { team: "red" } });
const base = { namespace: "tasks", key: "execute", version: 1 };
const objective = markdown({ key: "objective", title: "Objective", template: "Reach $goal by $day." });
const parameters = z.object({ goal: z.string(), day: z.string().default("Friday") });
const prompt = promptTemplate({ ...base, parameters, sections: [objective] });

describe("a prompt template", () => {
  it("renders its sections in order, with their titles, separated from each other", () => {
    const template = promptTemplate({
      ...base,
      parameters,
      sections: [
        objective,
        dynamic({
          key: "who",
          title: "Who",
          render: (view, { goal }: { goal: string }) => `\n${view.id} of ${view.tags.team}: ${goal}\n\n`,
        }),
        markdown({ key: "end", title: "End", template: "That is all." }),
      ],
    });
    expect(template.render(session, { goal: "the top" })).toBe(
      "## Objective\n\nReach the top by Friday.\n\n## Who\n\ns-1 of red: the top\n\n## End\n\nThat is all.",
    );
  });

  it("shows a section only if it is enabled for the session and the parameters", () => {
    const template = promptTemplate({
      ...base,
      parameters: z.object({ shown: z.boolean() }),
      sections: [
        markdown({
          key: "a",
          title: "A",
          template: "a",
          enabled: (_view, { shown }: { shown: boolean }) => shown,
        }),
        markdown({ key: "b", title: "B", template: "b", enabled: (view) => view.id === "s-1" }),
        markdown({
          key: "c",
          title: "C",
          template: "c",
          enabled: (view) => view.query(planSlice).latest() !== null,
        }),
      ],
    });
    expect(template.render(session, { shown: true })).toBe("## A\n\na\n\n## B\n\nb");
    expect(template.render(session, { shown: false })).toBe("## B\n\nb");
  });

  it("renders the same text for the same session and parameters", () => {
    const template = promptTemplate({ ...base, parameters, sections: [objective, planning()] });
    expect(template.render(session, { goal: "g" })).toBe(template.render(session, { goal: "g" }));
  });

  it("has the slices and tools of its sections, each once", () => {
    const notes = defineSlice({ name: "notes", schema: z.string() });
    const template = promptTemplate({
      ...base,
      sections: [
        planning(),
        planning({ key: "again" }),
        dynamic({ key: "p", title: "P", slices: [planSlice, notes], render: () => "" }),
      ],
    });
    expect(template.slices).toEqual([planSlice, notes]);
    expect(template.tools).toEqual(planTools());
    expect(prompt.tools).toEqual([]);
  });

  it("has its name, and the texts that are known before it is rendered", () => {
    const template = promptTemplate({
      ...base,
      version: "2.1-beta",
      sections: [
        markdown({
          key: "a",
          title: "Title",
          template: "Say DONE.",
          visibility: "summary",
          summary: "Short",
        }),
        planning({ strategy: "react" }),
      ],
    });
    expect(template.id).toBe("tasks:execute@2.1-beta");
    for (const text of ["Title", "Say DONE.", "Short", "Work in short rounds."])
      expect(template.staticText).toContain(text);
  });

  it("is recognised, and so is a bound prompt", () => {
    const bound = prompt.bind({ goal: "g" });
    expect([isPromptTemplate(prompt), isBoundPrompt(prompt)]).toEqual([true, false]);
    expect([isPromptTemplate(bound), isBoundPrompt(bound)]).toEqual([false, true]);
    for (const other of ["text", null, {}])
      expect(isPromptTemplate(other) || isBoundPrompt(other)).toBe(false);
  });

  it.each<[string, object, RegExp]>([
    ["an invalid namespace", { namespace: "a:b" }, /cannot be a prompt's namespace/],
    ["an invalid key", { key: "" }, /cannot be a prompt's key/],
    ["no version", { version: undefined }, /tasks:execute needs a version/],
    ["an invalid version", { version: "a b" }, /needs a version/],
    ["a fractional version", { version: 1.5 }, /needs a version/],
    ["no sections", { sections: [] }, /tasks:execute@1 has no sections/],
    ["an object that is not a section", { sections: [{ key: "a", title: "A" }] }, /make it with markdown/],
    [
      "two sections with the same key",
      { sections: [objective, objective] },
      /two sections with the key objective/,
    ],
    ["parameters that are not an object", { parameters: z.string() }, /are no zod object/],
    ["parameters without a JSON Schema", { parameters: z.object({ at: z.date() }) }, /has no JSON Schema/],
  ])("is refused with %s", (_what, change, message) => {
    const make = () => promptTemplate({ ...base, parameters, sections: [objective], ...change });
    expect(make).toThrow(ConfigurationError);
    expect(make).toThrow(message);
  });

  it("is refused if a section names a parameter that it does not have", () => {
    const named = markdown({ key: "end", title: "End", template: "Bye ${nobody}." });
    const make = () => promptTemplate({ ...base, parameters, sections: [objective, named] });
    expect(make).toThrow(ConfigurationError);
    expect(make).toThrow(
      "Section end of prompt tasks:execute@1 names the parameter nobody, which the prompt does not have (it has goal, day)",
    );
    expect(() => promptTemplate({ ...base, sections: [objective] })).toThrow(/parameter goal.*it has none/);
    const natural = markdown({ key: "n", title: "N", template: "$constructor" });
    expect(() => promptTemplate({ ...base, sections: [natural] })).toThrow(/parameter constructor/);
  });

  it("is refused if two sections bring different slices with the same name", () => {
    const namesake = defineSlice({ name: "plan", schema: z.string() });
    const other = dynamic({ key: "p", title: "P", slices: [namesake], render: () => "" });
    expect(() => promptTemplate({ ...base, sections: [planning(), other] })).toThrow(
      /Two slices are named plan/,
    );
  });
});

describe("rendering is refused", () => {
  it("without a parameter, naming it, its section and the prompt", () => {
    const render = () => prompt.render(session, { day: "Monday" });
    expect(render).toThrow(ConfigurationError);
    expect(render).toThrow("The parameter goal of section objective of prompt tasks:execute@1 is missing");
  });

  it("if the input is not an object and parameters are needed", () => {
    for (const input of ["text", 7, null, ["a"], undefined])
      expect(() => prompt.render(session, input)).toThrow(/parameter goal .* is missing/);
  });

  it.each(["who", "constructor"])("without the optional parameter %s, which a text names", (name) => {
    const optional = z.object({ [name]: z.string().optional() });
    const named = markdown({ key: "n", title: "N", template: `$${name}` });
    const template = promptTemplate({ ...base, parameters: optional, sections: [named] });
    expect(() => template.render(session, {})).toThrow(`The parameter ${name} of section n of prompt`);
    expect(() => template.render(session, {})).toThrow(/is missing/);
  });

  it("without a parameter that only functions use", () => {
    const render = (_view: unknown, params: { who: string }) => params.who;
    const template = promptTemplate({
      ...base,
      parameters: z.object({ who: z.string() }),
      sections: [dynamic({ key: "d", title: "D", render })],
    });
    expect(() => template.render(session, {})).toThrow(
      "The parameter who of prompt tasks:execute@1 is missing",
    );
  });

  it("with a parameter of the wrong type, saying what is wrong", () => {
    const render = () => prompt.render(session, { goal: 7 });
    expect(render).toThrow(ConfigurationError);
    expect(render).toThrow(
      /parameter goal of section objective of prompt tasks:execute@1 does not fit: .*expected string, received number/,
    );
  });

  it("if parameters do not fit together", () => {
    const together = z.object({ a: z.number() }).refine(({ a }) => a > 1, "a is too small");
    const template = promptTemplate({ ...base, parameters: together, sections: [planning()] });
    expect(() => template.render(session, { a: 1 })).toThrow(
      /parameters of prompt .* do not fit: a is too small/,
    );
  });

  it.each<[string, unknown]>([
    ["a promise", Promise.resolve("text")],
    ["undefined", undefined],
    ["null", null],
    ["number", 7],
  ])("if a section renders %s", (what, value) => {
    const section = dynamic({ key: "odd", title: "Odd", render: () => value as string });
    const render = () => promptTemplate({ ...base, sections: [section] }).render(session, {});
    expect(render).toThrow(ConfigurationError);
    expect(render).toThrow(`Section odd of prompt tasks:execute@1 rendered ${what}`);
  });

  it("if enabled returns neither true nor false", () => {
    const section = markdown({
      key: "odd",
      title: "Odd",
      template: "x",
      enabled: (async () => false) as never,
    });
    const render = () => promptTemplate({ ...base, sections: [section] }).render(session, {});
    expect(render).toThrow(/enabled of section odd of prompt tasks:execute@1 returned object/);
  });

  it("if a section changes the session", () => {
    const section = dynamic({
      key: "odd",
      title: "Odd",
      render: (view) => {
        view.dispatch(setupPlan("Meddle", []));
        return "";
      },
    });
    const render = () => promptTemplate({ ...base, sections: [section] }).render(session, {});
    expect(render).toThrow(/tasks:execute@1 dispatched the event SetupPlan while it was rendered/);
    expect(session.query(planSlice).latest()).toBeNull();
  });
});

describe("a bound prompt", () => {
  it("renders with its values, whatever the input is", () => {
    const bound = prompt.bind({ goal: "the top" });
    expect(bound.render(session, { goal: "another" })).toContain("Reach the top by Friday.");
    expect(bound.values).toEqual({ goal: "the top" });
    expect(bound.template).toBe(prompt);
  });

  it("renders with what its function returns for the input", () => {
    const bound = prompt.bind((input) => ({ goal: `to ${JSON.stringify(input)}`, day: "Monday" }));
    expect(bound.render(session, "rest")).toContain('Reach to "rest" by Monday.');
    expect(bound.values).toBeNull();
    const missing = prompt.bind((() => ({})) as never);
    expect(() => missing.render(session, "rest")).toThrow(/parameter goal .* is missing/);
  });

  it("keeps its values when the objects they came from change", () => {
    const values = { goal: "the top" };
    const bound = prompt.bind(values);
    values.goal = "changed";
    expect(bound.values).toEqual({ goal: "the top" });
  });

  it("is refused immediately with values that are missing, wrong or not JSON", () => {
    expect(() => prompt.bind({} as never)).toThrow(/parameter goal .* is missing/);
    expect(() => prompt.bind({ goal: 7 } as never)).toThrow(/parameter goal .* does not fit/);
    expect(() => prompt.bind({ goal: "g", more: new Date(0) } as never)).toThrow(NotJsonError);
  });
});

describe("the document of a template", () => {
  const make = (change: object = {}, section: object = {}) =>
    promptTemplate({
      ...base,
      parameters,
      sections: [
        markdown({ key: "objective", title: "Objective", template: "$goal", ...section }),
        dynamic({ key: "now", title: "Now", version: 3, render: () => "text" }),
        planning({ strategy: "react" }),
      ],
      ...change,
    }).document;

  it("holds the definition of the prompt, and no rendering", () => {
    expect(make()).toMatchObject({
      namespace: "tasks",
      key: "execute",
      version: 1,
      parameters: { type: "object", required: ["goal"], properties: { goal: { type: "string" } } },
      sections: [
        {
          kind: "markdown",
          key: "objective",
          title: "Objective",
          template: "$goal",
          visibility: "full",
          summary: null,
        },
        { kind: "dynamic", key: "now", title: "Now", version: 3 },
        { kind: "planning", strategy: "react", text: expect.stringContaining("Work in short rounds.") },
      ],
    });
    expect(JSON.parse(JSON.stringify(make()))).toEqual(make());
  });

  it("differs if the template does", () => {
    const documents = [
      make(),
      make({ namespace: "other" }),
      make({ version: 2 }),
      make({ parameters: z.object({ goal: z.string(), day: z.number() }) }),
      make({ sections: [objective] }),
      make({}, { title: "Aim" }),
      make({}, { template: "$goal!" }),
      make({}, { visibility: "summary", summary: "s" }),
    ].map((document) => JSON.stringify(document));
    expect(new Set(documents).size).toBe(documents.length);
  });

  it("does not depend on functions: neither on what they render nor on when a section is shown", () => {
    const other = promptTemplate({
      ...base,
      parameters,
      sections: [
        markdown({ key: "objective", title: "Objective", template: "$goal", enabled: () => false }),
        dynamic({ key: "now", title: "Now", version: 3, render: () => "another text" }),
        planning({ strategy: "react" }),
      ],
    });
    expect(other.document).toEqual(make());
  });
});

describe("the types of a prompt", () => {
  it("require the parameters when it is bound, except those with a default", () => {
    expectTypeOf(prompt).toEqualTypeOf<PromptTemplate<{ goal: string; day?: string | undefined }>>();
    expectTypeOf(prompt).toExtend<PromptTemplate>();
    expectTypeOf(prompt.bind({ goal: "g" })).toEqualTypeOf<BoundPrompt>();
    // @ts-expect-error the goal is missing
    expect(() => prompt.bind({ day: "Monday" })).toThrow();
    // @ts-expect-error the goal must be a string
    expect(() => prompt.bind(() => ({ goal: 7 }))).not.toThrow();
  });

  it("let a section use the parameters of the prompt, as the schema parses them, and no others", () => {
    const day = dynamic({ key: "d", title: "D", render: (_view, params: { day: string }) => params.day });
    expect(promptTemplate({ ...base, parameters, sections: [day] }).render(session, { goal: "g" })).toBe(
      "## D\n\nFriday",
    );
    const hour = dynamic({ key: "h", title: "H", render: (_view, params: { hour: string }) => params.hour });
    // @ts-expect-error the prompt has no hour
    promptTemplate({ ...base, parameters, sections: [hour] });
    expectTypeOf(planning()).toExtend<typeof day>();
  });
});
