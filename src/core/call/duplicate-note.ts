import { canonicalJson } from "../canonical-json.ts";
import { isJsonList, isJsonObject, type Json, type JsonObject } from "../json.ts";
import type { ToolOutput } from "../message.ts";
import type { ReceiptStatus } from "./tool-call-decision.ts";

/**
 * The error code of a deduplicated call whose arguments were not those of the first call: something was not done that was
 * asked for. It is stored, so that the note below is the same after a crash, and absent in runs of earlier versions.
 */
export const OTHER_ARGUMENTS = "other_arguments";

const NOTE =
  "[This call did not run: an earlier call with other arguments counts as the same effect. Below is the result of that earlier call.]";

type SettledOutput = {
  readonly status: ReceiptStatus;
  readonly output: ToolOutput;
  readonly errorCode: string | null;
};

/** True if the call was not run, although its arguments were not those of the call that was. */
export function isUnlikeFirst({ status, errorCode }: Pick<SettledOutput, "status" | "errorCode">): boolean {
  return status === "deduplicated" && errorCode === OTHER_ARGUMENTS;
}

/**
 * The output that the model sees. Derived from the receipt, which holds the plain first result: that is what code gets,
 * and what the next duplicate repeats.
 */
export function outputForModel(receipt: SettledOutput): ToolOutput {
  const { output } = receipt;
  if (!isUnlikeFirst(receipt)) return output;
  const { type, value } = output;
  if (type === "content" && isJsonList(value))
    return { type, value: [{ type: "text", text: NOTE }, ...value] };
  return { type: "text", value: `${NOTE}\n\n${typeof value === "string" ? value : JSON.stringify(value)}` };
}

/**
 * The names of the arguments that differ, sorted; never their values, which may be secret.
 *
 * @example
 * differingArguments({ to: "ann", mail: { body: "Hi" } }, { to: "ann", mail: { body: "Hello" } }); // ["mail.body"]
 */
export function differingArguments(first: Json, second: Json): readonly string[] {
  if (!isJsonObject(first) || !isJsonObject(second)) return isEqual(first, second) ? [] : ["the arguments"];
  return differingFields(first, second, "");
}

function differingFields(first: JsonObject, second: JsonObject, prefix: string): readonly string[] {
  const names = new Set([...Object.keys(first), ...Object.keys(second)]);
  return [...names].sort().flatMap((name) => {
    const [one, other] = [first[name], second[name]];
    const path = `${prefix}${name}`;
    if (one === undefined || other === undefined) return [path];
    if (isJsonObject(one) && isJsonObject(other)) return differingFields(one, other, `${path}.`);
    return isEqual(one, other) ? [] : [path];
  });
}

function isEqual(one: Json, other: Json): boolean {
  return canonicalJson(one) === canonicalJson(other);
}
