import {
  type FileReference,
  hasFiles,
  isFileReference,
  type Message,
  type UserTextPart,
} from "../message.ts";

// A file in a user's message, and what a model sees in place of what was left out.

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
  full: "Newer files fill the request.",
} as const;

/** What a model sees in place of a file. */
export function leftOut(file: FileReference, reason: keyof typeof REASONS): UserTextPart {
  return { type: "text", text: `[Left out: ${fileTitle(file)}. ${REASONS[reason]}]` };
}

/** What a model sees in place of a message that its provider refused. Also the names of its files may have been the reason. */
export const REFUSED_MESSAGE = "[Left out: a message of the user. A request with it was refused.]";

/** Texts whose type does not begin with `text/`. */
const TEXT_SUBTYPE = /\/(.+\+)?(json|xml|(x-)?yaml|csv|(x-)?javascript|x-ndjson)$/;

/** True for the type of a file that is a text: it counts by its characters, and is searched for secrets. */
export function isTextType(mediaType: string): boolean {
  return mediaType.startsWith("text/") || TEXT_SUBTYPE.test(mediaType);
}

/** The most bytes that the files of a request have together: providers refuse larger requests. */
const MAX_REQUEST_FILE_BYTES = 20_000_000;

/**
 * The messages with the newest of their files, as many as fit, and with the names of those before. It depends on the
 * messages alone, so each attempt at a turn shows the same, in any process. Messages that do not change stay the same objects.
 */
export function withNewestFiles(
  messages: readonly Message[],
  maxBytes: number = MAX_REQUEST_FILE_BYTES,
): readonly Message[] {
  let room = maxBytes;
  const newestFirst = messages.toReversed().map((message): Message => {
    if (message.role !== "user" || typeof message.content === "string") return message;
    const parts = message.content.toReversed().map((part) => {
      if (!isFileReference(part)) return part;
      room -= part.size;
      return room < 0 ? leftOut(part, "full") : part;
    });
    return room < 0 && hasFiles(message) ? { role: "user", content: parts.reverse() } : message;
  });
  return room < 0 ? newestFirst.reverse() : messages;
}
