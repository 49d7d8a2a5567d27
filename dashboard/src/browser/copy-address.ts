/** Copies the address of the page. A browser may refuse it; then the address bar still has it. */
export function copyAddress(): void {
  navigator.clipboard?.writeText(location.href).catch(() => undefined);
}
