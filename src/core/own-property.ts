/**
 * The object's own value under a name from outside: of a provider, a model, a file. Not just `object[name]`: an object
 * without a key "constructor" still has a constructor.
 */
export function ownProperty<T>(object: { readonly [name: string]: T }, name: string): T | undefined {
  return Object.hasOwn(object, name) ? object[name] : undefined;
}
