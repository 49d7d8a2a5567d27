import { canonicalJson } from "../../../core/canonical-json.ts";
import type { BlueprintCondition } from "../../../core/job/blueprint.ts";
import {
  fillTemplate,
  parseTemplate,
  type TemplateReference,
  valueAt,
} from "../../../core/job/blueprint-template.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../core/json.ts";
import type { EarlierSteps } from "../../definition/earlier-steps.ts";

/** Replaces the references in a template by their values. */
export async function fillText(text: string, given: Json, earlier: EarlierSteps): Promise<Json> {
  const parsed = parseTemplate(text);
  if (!parsed.ok) throw new Error(`The text ${parsed.problem}`);
  return fillTemplate(parsed.parts, (reference) => valueOf(reference, given, earlier));
}

/** Fills every template in an object. */
export async function fillJson(value: JsonObject, given: Json, earlier: EarlierSteps): Promise<JsonObject> {
  const entries = Object.entries(value).map(
    async ([name, each]) => [name, await filled(each, given, earlier)] as const,
  );
  return Object.fromEntries(await Promise.all(entries));
}

async function filled(value: Json, given: Json, earlier: EarlierSteps): Promise<Json> {
  if (typeof value === "string") return fillText(value, given, earlier);
  if (Array.isArray(value))
    return Promise.all((value as readonly Json[]).map((each) => filled(each, given, earlier)));
  return isJsonObject(value) ? fillJson(value, given, earlier) : value;
}

async function valueOf(reference: TemplateReference, given: Json, earlier: EarlierSteps): Promise<Json> {
  const found = valueAt(await wholeOf(reference, given, earlier), reference.path);
  if (found.ok) return found.value;
  throw new Error(`{{ ${reference.text} }} has no value: ${found.why}.`);
}

async function wholeOf(
  { root, step, text }: TemplateReference,
  given: Json,
  earlier: EarlierSteps,
): Promise<Json> {
  if (root === "previous") return given;
  if (step === null) return earlier.runInput();
  const done = await earlier.outputOf(step);
  if (done !== null) return done.output;
  throw new Error(`{{ ${text} }} has no value: step ${step} was skipped.`);
}

/** True if the condition holds for this value. A missing property equals nothing. */
export function holds({ output, equals }: BlueprintCondition, value: Json): boolean {
  const at = valueAt(value, output?.split(".") ?? []);
  return at.ok && canonicalJson(at.value) === canonicalJson(equals);
}
