import type { FileReference, UserTextPart } from "./message.ts";

// A file in a user's message.

/** A file as people and models read of it. */
export function fileTitle({ filename, mediaType }: Pick<FileReference, "filename" | "mediaType">): string {
  return filename === undefined
    ? `a file of type ${mediaType}`
    : `file ${JSON.stringify(filename)} (${mediaType})`;
}

/** Why a model sees only the name of a file. */
const REASONS = {
  refused: "A request with it was refused.",
  gone: "Its contents are lost.",
} as const;

/** What a model sees in place of a file. */
export function leftOut(file: FileReference, reason: keyof typeof REASONS): UserTextPart {
  return { type: "text", text: `[Left out: ${fileTitle(file)}. ${REASONS[reason]}]` };
}

/** Texts whose type does not begin with `text/`. */
const TEXT_SUBTYPE = /\/(.+\+)?(json|xml|(x-)?yaml|csv|(x-)?javascript|x-ndjson)$/;

/** True for the type of a file that is a text: it counts by its characters, and is searched for secrets. */
export function isTextType(mediaType: string): boolean {
  return mediaType.startsWith("text/") || TEXT_SUBTYPE.test(mediaType);
}
