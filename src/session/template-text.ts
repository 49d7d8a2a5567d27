import { ConfigurationError } from "../core/errors.ts";

/** `$$` is a dollar, `$name` and `${name}` are parameters, any other dollar is literal. */
const PLACEHOLDER = /\$(?:(\$)|\{([^}]*)\}|([A-Za-z_]\w*))/g;
const PARAMETER = /^[A-Za-z_]\w*$/;

/** The names of the parameters in a text, each once. */
export function parametersOf(text: string, where: string): readonly string[] {
  const names = [...text.matchAll(PLACEHOLDER)].flatMap(([found, dollar, braced, plain]) => {
    if (dollar !== undefined) return [];
    const name = braced ?? plain ?? "";
    if (PARAMETER.test(name)) return [name];
    throw new ConfigurationError(
      `${where} has ${found}, which names no parameter: use letters, digits and "_", or write $$ for a dollar.`,
    );
  });
  return [...new Set(names)];
}

export function fillIn(text: string, valueOf: (name: string) => string): string {
  return text.replace(PLACEHOLDER, (_found, dollar?: string, braced?: string, plain?: string) =>
    dollar === undefined ? valueOf(braced ?? plain ?? "") : "$",
  );
}
