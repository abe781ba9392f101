/** What ARM puts on the wire when it refuses: `{ error: { code, message, target, details } }`. */
export interface ArmErrorBody {
  readonly code: string;
  readonly message: string;
  readonly target?: string;
}

/** A refusal of a request, thrown inside the double and rendered once at its HTTP border. */
export class ArmError extends Error {
  readonly status: number;
  readonly code: string;
  readonly target: string | null;
  /** Null for none: then the network provider shows an empty list, and everybody else nothing. */
  readonly details: ReadonlyArray<ArmErrorBody> | null;
  /** What Compute says beside it when it throttles. */
  readonly innerCode: string | null;
  readonly retryAfterSeconds: number | null;

  constructor(
    status: number,
    body: ArmErrorBody,
    more: {
      target?: string;
      details?: ReadonlyArray<ArmErrorBody>;
      innerCode?: string;
      retryAfterSeconds?: number;
    } = {},
  ) {
    super(body.message);
    this.name = 'ArmError';
    this.status = status;
    this.code = body.code;
    this.target = more.target ?? null;
    this.details = more.details ?? null;
    this.innerCode = more.innerCode ?? null;
    this.retryAfterSeconds = more.retryAfterSeconds ?? null;
  }
}

/** Codes that Azure's gateway answers with by itself: the request never comes to a resource provider. */
const GATEWAY_CODES: ReadonlySet<string> = new Set([
  'AuthenticationFailed',
  'AuthorizationFailed',
  'FailedIdentityOperation',
  'InvalidApiVersionParameter',
  'InvalidRequestContent',
  'InvalidResourceType',
  'InvalidTagName',
  'InvalidTagNameCharacters',
  'InvalidTagValueLength',
  'InvalidTags',
  'LinkedAuthorizationFailed',
  'LinkedInvalidPropertyId',
  'LocationNotAvailableForResourceType',
  'LocationRequired',
  'MissingApiVersionParameter',
  'MissingIdentityIds',
  'NoRegisteredProviderFound',
  'ParentResourceNotFound',
  'ResourceGroupNotFound',
  'ResourceNotFound',
  'ServerTimeout',
  'SubscriptionNotFound',
  'SubscriptionRequestsThrottled',
]);

/** Whether the gateway itself refuses. It says so in a header, and counts nothing against the limits. */
export function isOfGateway({ code }: ArmError): boolean {
  return GATEWAY_CODES.has(code);
}

/**
 * The JSON body of a refusal, in the form of who refuses: the network provider has details always, the others where
 * there are some.
 */
export function renderArmError(error: ArmError, provider: string | null): object {
  const isOfNetwork = provider?.toLowerCase() === 'microsoft.network' && !isOfGateway(error);
  const details = error.details ?? (isOfNetwork ? [] : null);
  return {
    error: {
      code: error.code,
      message: error.message,
      ...(error.target === null ? {} : { target: error.target }),
      ...(details === null ? {} : { details }),
      ...(error.innerCode === null ? {} : { innererror: { internalErrorCode: error.innerCode } }),
    },
  };
}

/**
 * The gateway's 404 for a resource that it does not know. `path` is the name under its provider, types between names:
 * `Microsoft.Compute/virtualMachines/vm-1/extensions/e`.
 */
export function resourceNotFound(path: string, group: string): ArmError {
  return new ArmError(404, {
    code: 'ResourceNotFound',
    message:
      `The Resource '${path}' under resource group '${group}' was not found. ` +
      'For more details please go to https://aka.ms/ARMResourceNotFoundFix',
  });
}

/** A resource provider's own 404: the gateway has asked it, as it does of what was there before. */
export function notFound(message: string): ArmError {
  return new ArmError(404, { code: 'NotFound', message });
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

/** 412 for an `If-Match` of something else than what is there. */
export function etagMismatch(wanted: string, etag: string): ArmError {
  return new ArmError(412, {
    code: 'PreconditionFailed',
    message: `Etag provided in if-match header "${wanted}" does not match etag "${etag}" of resource.`,
  });
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
    message:
      `Resource ${referenced} referenced by resource ${by} was not found. Please make sure that the referenced resource ` +
      'exists, and that both resources are in the same region.',
  });
}
