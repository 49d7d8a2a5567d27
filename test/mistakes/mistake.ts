/**
 * How good a message is. A+: it says what is wrong and exactly what to write. A: what is wrong, where, and what to do. B: what is
 * wrong and where; the reader has to think about the rest. Anything worse is fixed, not listed.
 */
export type Grade = "A+" | "A" | "B";

/** A mistake that people make, and the message that they get. */
export type Mistake = {
  readonly what: string;
  readonly make: () => unknown;
  readonly says: string;
  readonly grade: Grade;
};

/** The message of what a mistake throws, or of the promise that it returns. */
export async function messageOf({ make }: Pick<Mistake, "make">): Promise<string> {
  try {
    return `(no error) ${String(await make())}`;
  } catch (error) {
    const text = error instanceof Error ? `${prefix(error)}${error.message}` : String(error);
    return text.replaceAll(/\S*\/pawl-mistakes-\w+/g, "<folder>");
  }
}

/** An error that is not Pawl's own is a leak of the inside: its name shows in the table. */
function prefix(error: Error): string {
  return "code" in error && "details" in error ? "" : `${error.name}: `;
}

/** What was printed or shown, as the message of an error of Pawl's own. */
export function said(text: unknown): Error {
  const message = typeof text === "string" ? text : JSON.stringify(text);
  return Object.assign(new Error(message), { code: "said", details: {} });
}
