/** The code of `#code=…`, which the server printed. Taken out of the address before anything else sees it. */
export function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code === null || code === "") return null;
  history.replaceState(null, "", location.pathname + location.search);
  return code;
}
