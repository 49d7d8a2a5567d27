import { describe, expect, it } from "vitest";
import {
  fillTemplate,
  parseTemplate,
  referencesOf,
  valueAt,
} from "../../../src/core/job/blueprint-template.ts";
import type { Json } from "../../../src/core/json.ts";

const values: { readonly [text: string]: Json } = {
  "input.topic": "pawls",
  previous: { a: [1, null] },
  "steps.draft.text": "A text with {{ input.topic }} in it",
};

async function filled(text: string): Promise<Json> {
  const parsed = parseTemplate(text);
  if (!parsed.ok) throw new Error(parsed.problem);
  return fillTemplate(parsed.parts, async (reference) => values[reference.text] ?? null);
}

describe("a template", () => {
  it.each<[string, Json]>([
    ["plain", "plain"],
    ["About {{ input.topic }}.", "About pawls."],
    ["{{input.topic}}{{ input.topic }}", "pawlspawls"],
    ["{{ previous }}", { a: [1, null] }],
    ["It is {{ previous }}", 'It is {"a":[1,null]}'],
    [" {{ previous }}", ' {"a":[1,null]}'],
    ["{{ steps.draft.text }}", "A text with {{ input.topic }} in it"],
    ["\\{{ input.topic }} and {{ input.topic }}", "{{ input.topic }} and pawls"],
    ["{ { } } }} a", "{ { } } }} a"],
    ["", ""],
  ])("%j is filled once, and becomes the value itself if it is only a reference", async (text, value) => {
    expect(await filled(text)).toEqual(value);
  });

  it("is parsed into its references", () => {
    const parsed = parseTemplate("a {{ steps.draft.list.0.name }} b {{ input }}");
    expect(parsed.ok && referencesOf(parsed.parts)).toEqual([
      { text: "steps.draft.list.0.name", root: "steps", step: "draft", path: ["list", "0", "name"] },
      { text: "input", root: "input", step: null, path: [] },
    ]);
  });
});

describe("a path", () => {
  const value = { list: [{ name: "one" }], "0": "zero", nothing: null };
  it.each<[string, Json]>([
    ["list.0.name", "one"],
    ["0", "zero"],
    ["nothing", null],
  ])("%s leads to an existing value", (path, found) => {
    expect(valueAt(value, path.split("."))).toEqual({ ok: true, value: found });
  });

  it.each([
    ["list.1", "there is no 1 in a list of 1"],
    ["list.name", "there is no name in a list of 1"],
    ["nothing.x", "there is no x in null"],
    ["list.0.name.x", "there is no x in a text"],
    ["toString", "there is no toString in an object with 0, list, nothing"],
    ["list.length", "there is no length in a list of 1"],
  ])("%s leads nowhere, and the problem says where it ends", (path, why) => {
    expect(valueAt(value, path.split("."))).toEqual({ ok: false, why });
  });
});
