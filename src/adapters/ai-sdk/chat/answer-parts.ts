import type { UIMessageChunk } from "ai";
import { isJsonObject, type Json } from "../../../core/json.ts";
import type { AssistantPart } from "../../../core/message.ts";

/** The parts of a journaled answer that are neither text nor reasoning nor calls. Those that a page cannot show are left out. */
export function chunksOfFile(part: AssistantPart): UIMessageChunk[] {
  switch (part.type) {
    case "file":
    case "reasoning-file": {
      const url = urlOfFile(part);
      const mediaType = typeof part.mediaType === "string" ? part.mediaType : "application/octet-stream";
      return url === null ? [] : [{ type: part.type, url, mediaType }];
    }
    case "source":
      return chunksOfSource(part);
    default:
      return [];
  }
}

/** The address of a file that the model has made: data, in base64. */
function urlOfFile({ data, mediaType }: AssistantPart): string | null {
  const bytes = isJsonObject(data ?? null) ? (data as { readonly data?: Json }).data : data;
  if (typeof bytes !== "string") return null;
  if (/^(https?|data):/.test(bytes)) return bytes;
  return `data:${typeof mediaType === "string" ? mediaType : "application/octet-stream"};base64,${bytes}`;
}

function chunksOfSource({
  sourceType,
  id,
  url,
  title,
  mediaType,
  filename,
}: AssistantPart): UIMessageChunk[] {
  if (typeof id !== "string") return [];
  const titled = typeof title === "string" ? { title } : {};
  if (sourceType === "url" && typeof url === "string")
    return [{ type: "source-url", sourceId: id, url, ...titled }];
  if (sourceType !== "document" || typeof mediaType !== "string" || typeof title !== "string") return [];
  const named = typeof filename === "string" ? { filename } : {};
  return [{ type: "source-document", sourceId: id, mediaType, title, ...named }];
}
