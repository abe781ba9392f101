/** What ARM puts on the wire when it refuses: `{ error: { code, message, target, details } }`. */
export interface ArmErrorBody {
  readonly code: string;
  readonly message: string;
}

/** A refusal of a request, thrown inside the double and rendered once at its HTTP border. */
export class ArmError extends Error {
  readonly status: number;
  readonly code: string;
  readonly target: string | null;
  readonly details: ReadonlyArray<ArmErrorBody>;
  readonly retryAfterSeconds: number | null;

  constructor(
    status: number,
    body: ArmErrorBody,
    more: { target?: string; details?: ReadonlyArray<ArmErrorBody>; retryAfterSeconds?: number } = {},
  ) {
    super(body.message);
    this.name = 'ArmError';
    this.status = status;
    this.code = body.code;
    this.target = more.target ?? null;
    this.details = more.details ?? [];
    this.retryAfterSeconds = more.retryAfterSeconds ?? null;
  }
}

/** The JSON body of a refusal. */
export function renderArmError(error: ArmError): object {
  const target = error.target === null ? {} : { target: error.target };
  return { error: { code: error.code, message: error.message, ...target, details: error.details } };
}

/** 404 for a resource that is not there; the code and the words are those that clients tell "gone" by. */
export function resourceNotFound(type: string, name: string, group: string): ArmError {
  return new ArmError(404, {
    code: 'ResourceNotFound',
    message: `The Resource '${type}/${name}' under resource group '${group}' was not found.`,
  });
}

/** 404 for a part of a VM that is not there. */
export function parentResourceNotFound(group: string, vm: string): ArmError {
  return new ArmError(404, {
    code: 'ParentResourceNotFound',
    message:
      "Can not perform requested operation on nested resource. Parent resource 'virtualMachines/" +
      `${vm}' not found in resource group '${group}'.`,
  });
}

/** 409 for a PUT that would change what cannot change. */
export function propertyChangeNotAllowed(property: string): ArmError {
  return new ArmError(
    409,
    { code: 'PropertyChangeNotAllowed', message: `Changing property '${property}' is not allowed.` },
    { target: property },
  );
}

/** 412 for `If-None-Match: *` on something that exists. */
export function preconditionFailed(name: string): ArmError {
  return new ArmError(412, {
    code: 'PreconditionFailed',
    message: `The condition 'If-None-Match: *' does not hold: '${name}' exists already.`,
  });
}

/** 400 for a value that cannot be. */
export function invalidParameter(target: string, message: string): ArmError {
  return new ArmError(400, { code: 'InvalidParameter', message }, { target });
}

/** 400 for a value that is not there and must be. */
export function requiredParameter(target: string): ArmError {
  return invalidParameter(target, `Required parameter '${target}' is missing (null).`);
}

/** 400 for a reference to something that is not there. */
export function invalidReference(referenced: string, by: string): ArmError {
  return new ArmError(400, {
    code: 'InvalidResourceReference',
    message: `Resource ${referenced} referenced by resource ${by} was not found. Both must exist and be in the same region.`,
  });
}
