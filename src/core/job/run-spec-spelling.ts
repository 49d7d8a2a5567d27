/** `maxToolCalls` as `max_tool_calls`. */
export function snakeCase(camelCase: string): string {
  return camelCase.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** A name in the style of another: for `max_stepz` the suggestion is `max_steps`. */
export function inStyleOf(written: string, camelCase: string): string {
  return written.includes("_") ? snakeCase(camelCase) : camelCase;
}
