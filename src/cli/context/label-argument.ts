import { WrongUseError } from "./wrong-use-error.ts";

/** The name and the value of an option such as `--where tenant=acme`. */
export function labelOption(option: string, text: string): readonly [name: string, value: string] {
  const at = text.indexOf("=");
  if (at > 0) return [text.slice(0, at), text.slice(at + 1)];
  throw new WrongUseError(
    `${option} is ${JSON.stringify(text)}: give a name and a value, such as tenant=acme.`,
  );
}
