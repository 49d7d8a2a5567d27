/** The form in which key names are compared: `API_Key`, `api-key` and `apikey` are one. */
export function normaliseKeyName(name: string): string {
  return name.replace(/[_-]/g, "").toLowerCase();
}
