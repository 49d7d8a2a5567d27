import { isJson } from "../../core/canonical-json.ts";
import { ConfigurationError } from "../../core/errors.ts";
import { isJsonObject } from "../../core/json.ts";
import { assertOptions, type OptionNames } from "../../core/naming/option-names.ts";
import type { PersonStandIn } from "./scenario.ts";

const PERSON_NAMES = {
  approval: true,
  question: true,
  inDoubt: true,
} satisfies OptionNames<PersonStandIn>;
const PERSON_OTHER_NAMES = { approve: "approval", answer: "question", settle: "inDoubt" };

/** A name that is not used would leave the default answer in place, without notice. */
export function assertPerson(person: PersonStandIn): void {
  assertOptions("`person` of crashExplorer", person, PERSON_NAMES, PERSON_OTHER_NAMES);
  const wrong = Object.entries(person).find(
    ([, answer]) => answer !== undefined && typeof answer !== "function",
  );
  if (wrong === undefined) return;
  throw new ConfigurationError(
    `person.${wrong[0]} is ${shown(wrong[1])}: give a function of the wait that returns the answer.`,
  );
}

/** The same person. An answer that is none is given to `refuse`, with the forms that an answer has. */
export function checkedPerson(
  { approval, question, inDoubt }: PersonStandIn,
  refuse: (error: ConfigurationError) => void,
): PersonStandIn {
  const assertAnswer = (name: keyof PersonStandIn, answer: unknown) => {
    if (isAnswer[name](answer)) return;
    const error = new ConfigurationError(`person.${name} returned ${shown(answer)}: ${FORMS[name]}`);
    refuse(error);
    throw error;
  };
  const checked =
    <A extends readonly unknown[], R>(name: keyof PersonStandIn, given: (...args: A) => R) =>
    (...args: A): R => {
      const answer = given(...args);
      assertAnswer(name, answer);
      return answer;
    };
  return {
    ...(approval === undefined ? {} : { approval: checked("approval", approval) }),
    ...(question === undefined ? {} : { question: checked("question", question) }),
    ...(inDoubt === undefined ? {} : { inDoubt: checked("inDoubt", inDoubt) }),
  };
}

const FORMS: { readonly [name in keyof Required<PersonStandIn>]: string } = {
  approval: 'return "approve", or { deny: "the reason" }.',
  question: "return the answer: a text, or another JSON value.",
  inDoubt:
    'return { as: "succeeded", result }, { as: "retry" }, or { as: "failed", why: "the reason" }; the second argument is the effect that happened, or null.',
};

const isAnswer: { readonly [name in keyof Required<PersonStandIn>]: (answer: unknown) => boolean } = {
  approval: (answer) => answer === "approve" || (isJsonObject(answer) && isReason(answer.deny)),
  question: isJson,
  inDoubt: (answer) => {
    if (!isJsonObject(answer)) return false;
    if (answer.as === "succeeded") return answer.result !== undefined;
    return answer.as === "retry" || (answer.as === "failed" && isReason(answer.why));
  },
};

function isReason(why: unknown): boolean {
  return typeof why === "string" && why.trim() !== "";
}

/** A value in a sentence: a promise by its name, since its answer would never be awaited. */
function shown(value: unknown): string {
  if (value instanceof Promise) return "a promise";
  return isJson(value) ? JSON.stringify(value) : `a value of type ${typeof value}`;
}
