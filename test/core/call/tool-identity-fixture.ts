import { builtInIdentity } from "../../../src/core/call/tool-identity.ts";
import type { Json } from "../../../src/core/json.ts";

export function email(args: Json): Json {
  return builtInIdentity(["SEND", "EMAIL"], "external", args)?.identity ?? null;
}

export function upload(args: Json): Json {
  return builtInIdentity(["UPLOAD", "FILE"], "external", args)?.identity ?? null;
}

export function memory(args: Json): Json {
  return builtInIdentity(["MEMORY", "APPEND"], "memory", args)?.identity ?? null;
}

export function namesOf(text: string): readonly string[] {
  return text.trim().split(/\s+/);
}
