// A file in a user's message.

/** Texts whose type does not begin with `text/`. */
const TEXT_SUBTYPE = /\/(.+\+)?(json|xml|(x-)?yaml|csv|(x-)?javascript|x-ndjson)$/;

/** True for the type of a file that is a text: it counts by its characters, and is searched for secrets. */
export function isTextType(mediaType: string): boolean {
  return mediaType.startsWith("text/") || TEXT_SUBTYPE.test(mediaType);
}
