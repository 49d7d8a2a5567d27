import { makeToolSource, type ToolSource } from "../../engine/definition/tool-source.ts";

/**
 * The same source, with these strings redacted by every run that opens it: a server may send back what it was given, and tool
 * results are stored and sent to the model.
 */
export function hidingSource(source: ToolSource, secrets: readonly string[]): ToolSource {
  if (secrets.length === 0) return source;
  return makeToolSource({
    name: source.name,
    places: source.places ?? [],
    open: (name, opening) => {
      opening.learnSecrets(secrets);
      return source.open(name, opening);
    },
  });
}
