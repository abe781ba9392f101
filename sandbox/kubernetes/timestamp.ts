/** A moment as the API writes it: RFC 3339, UTC, whole seconds. */
export function toTime(nowMs: number): string {
  return `${new Date(nowMs).toISOString().slice(0, 19)}Z`;
}

/** A moment as Leases write it: RFC 3339, UTC, microseconds. */
export function toMicroTime(nowMs: number): string {
  return `${new Date(nowMs).toISOString().slice(0, 23)}000Z`;
}
