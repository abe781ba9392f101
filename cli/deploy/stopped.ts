/**
 * Thrown where a command cannot continue. The message says what is wrong and how to fix it; it is never a bug of ours.
 */
export class Stopped extends Error {
  override readonly name = 'Stopped';
  /**
   * 1: something was refused, or has to be fixed; 2: the command, or what it needs on this machine, is wrong, and
   * nothing was changed.
   */
  readonly exitCode: 1 | 2;

  constructor(message: string, exitCode: 1 | 2 = 1, cause?: unknown) {
    super(message, cause === undefined ? {} : { cause });
    this.exitCode = exitCode;
  }
}
