/** A receiver's hold on one session: while it lasts nobody else receives the session's messages. */
export interface SessionLock {
  readonly sessionId: string;
  /** Names the receiver's link. */
  readonly holder: string;
  readonly until: number;
  /** Lock tokens of the session's messages that were received and not settled, oldest first. */
  readonly tokens: ReadonlySet<string>;
}

/** Which session, and who claims to hold it. */
export type SessionClaim = Pick<SessionLock, 'sessionId' | 'holder'>;

interface MutableLock extends SessionLock {
  until: number;
  readonly tokens: Set<string>;
}

/** The session locks of one queue. It keeps no time: `until` is what it was told. */
export class SessionLocks {
  readonly #locks = new Map<string, MutableLock>();

  get size(): number {
    return this.#locks.size;
  }

  get(sessionId: string): SessionLock | undefined {
    return this.#locks.get(sessionId);
  }

  /** Locks a free session; null when it is held, by the same holder too. */
  acquire(sessionId: string, holder: string, until: number): SessionLock | null {
    if (this.#locks.has(sessionId)) return null;
    const lock: MutableLock = { sessionId, holder, until, tokens: new Set() };
    this.#locks.set(sessionId, lock);
    return lock;
  }

  isHeld(claim: SessionClaim): boolean {
    return this.#held(claim) !== undefined;
  }

  /** Moves the end of a lock; null when the claim is wrong. */
  extend(claim: SessionClaim, until: number): number | null {
    const lock = this.#held(claim);
    if (lock === undefined) return null;
    lock.until = until;
    return until;
  }

  /** Frees a session; the answer is the lock as it was, or null when the claim is wrong. */
  release(claim: SessionClaim): SessionLock | null {
    const lock = this.#held(claim);
    if (lock === undefined) return null;
    this.#locks.delete(claim.sessionId);
    return lock;
  }

  addToken(claim: SessionClaim, token: string): void {
    this.#held(claim)?.tokens.add(token);
  }

  removeToken(sessionId: string, token: string): void {
    this.#locks.get(sessionId)?.tokens.delete(token);
  }

  #held(claim: SessionClaim): MutableLock | undefined {
    const lock = this.#locks.get(claim.sessionId);
    return lock?.holder === claim.holder ? lock : undefined;
  }
}
