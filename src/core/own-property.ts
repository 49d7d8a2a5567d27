/**
 * What an object itself has under a name that others chose: a provider, a model, a file. Not `object[name]` alone: an
 * object without a key "constructor" still has a constructor.
 */
export function ownProperty<T>(object: { readonly [name: string]: T }, name: string): T | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
