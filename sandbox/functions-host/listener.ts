/** One trigger that listens: it starts with the host and stops with it. */
export interface Listener {
  /** Starts to listen; resolves when it does. Throws when it cannot, and then only this function stays off. */
  start(): Promise<void>;
  /** Takes nothing new from now on; does not wait for what runs. Idempotent. */
  stopTaking(): Promise<void>;
  /** Lets go of connections, after what ran has ended. Idempotent. */
  close(): Promise<void>;
}
