import { makeToolSource, type ToolSource } from "../../engine/definition/tool-source.ts";

/**
 * The same source, except that a run which opens it hides these texts: a server may well send back what it was given, and what
 * a tool says is stored and told to the model.
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
