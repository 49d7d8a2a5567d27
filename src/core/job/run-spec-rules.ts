import { z } from "zod";
import { artifactNameProblem } from "../artifact-name.ts";
import { assertPatterns } from "../call/action-pattern.ts";
import { assertAllowedDomains, ENTRIES } from "../network-policy.ts";
import { once } from "../once.ts";
import { assertStepName } from "../step-path.ts";
import type { BudgetRange } from "./budgets.ts";
import type { Rule } from "./run-spec-field.ts";

export const YES_OR_NO: Rule<boolean> = { schema: once(() => z.boolean()), must: "true or false" };

/** The value of a budget. */
export function limitOf(range: BudgetRange): Rule<number | null> {
  return {
    schema: once(() => {
      // Adding 0 turns -0, which JSON does not have, into 0.
      const number = range.isWhole ? z.int().overwrite((count) => count + 0) : z.number();
      return number.min(range.least).max(range.most).nullable();
    }),
    must: `${range.must}, or null for no limit`,
  };
}

export const OBJECTIVE: Rule<string> = {
  schema: once(() =>
    z
      .string()
      .min(1)
      .max(100_000)
      .refine((text) => text.trim() !== ""),
  ),
  must: "a text of 1 to 100000 characters that says what to do",
  why: (text) => (/[^\P{Cc}\t\n\r]/u.test(text) ? "leave out control characters" : null),
};

const name = () => z.string().min(1).max(1_000);

/** One line without spaces at its ends. */
function isPlainLine(text: string): boolean {
  return text === text.trim() && !/\p{Cc}/u.test(text);
}

function accepts(assertion: () => void): boolean {
  try {
    assertion();
    return true;
  } catch {
    return false;
  }
}

export const PIPELINE: Rule<string | null> = {
  schema: once(() =>
    name()
      .refine((name) => accepts(() => assertStepName("pipeline", name)))
      .nullable(),
  ),
  must: 'the name of a pipeline, 1 to 100 characters without "/", "#", "[", "]" or spaces at its ends',
};

export const DOMAIN: Rule<string> = {
  schema: once(() =>
    name().refine((domain) => isPlainLine(domain) && accepts(() => assertAllowedDomains([domain], "It"))),
  ),
  must: `a host such as ${ENTRIES}`,
};

export const ACTION: Rule<string> = {
  schema: once(() =>
    name().refine((pattern) => isPlainLine(pattern) && accepts(() => assertPatterns([pattern], "It"))),
  ),
  must: 'the name of a tool or a pattern, such as "send_email" or "github:*", without spaces at its ends',
};

export const CONDITION: Rule<string> = {
  schema: once(() => z.string().regex(/^[A-Za-z][A-Za-z0-9_.-]{0,99}$/)),
  must: 'a name of 1 to 100 letters, digits, "_", "-" or ".", beginning with a letter',
  // Conditions are looked up by name, and every object has properties of these names.
  why: (name) =>
    name in Object.prototype
      ? "every JavaScript object has a property of that name, so choose another"
      : null,
};

export const OUTPUT: Rule<string> = {
  schema: once(name),
  must: 'the path of a file in the workspace, such as "report.pdf"',
  why: artifactNameProblem,
};

/** One of the outputs, or none. */
export const FINAL_OUTPUT: Rule<string | null> = {
  schema: once(() => name().nullable()),
  must: 'the path of a file in the workspace, such as "report.pdf", or null',
  why: (path) => (path === null ? null : artifactNameProblem(path)),
};

/** The placeholders for the run id in the path of its directory. */
export const RUN_ID_MARKS = /<(?:id|run_id)>/g;

/** Any directory, even outside the default one: code may choose freely, a job file within what the operator allows. */
export const WORKSPACE: Rule<string | null> = {
  schema: once(() => name().nullable()),
  must: "the path of a directory, or null for the default",
  why(directory) {
    if (directory === null) return null;
    if (!isPlainLine(directory)) return "leave out control characters, and spaces at its ends";
    if (directory.startsWith("~")) return '"~" works in a shell only, so write the whole path';
    return /[<>]/.test(directory.replace(RUN_ID_MARKS, ""))
      ? "only <id> and <run_id> are replaced, by the id of the run"
      : null;
  },
};
