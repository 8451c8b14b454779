// The errors of the client. Every failed call rejects with a CowryError, except an abort by the caller's own signal, which
// rejects with the reason of that signal, as fetch does.

import type { ErrorCode, ErrorType } from './generated/errors.ts'

/** One problem of one field of a request. */
export interface ErrorDetail {
  /** Dotted path of the field, such as customer.email. */
  field: string
  code: string
  /** What to change. */
  message: string
}

export interface CowryErrorFields {
  /** Never changes; branch on this. A later version of the service may return other codes. */
  code: ErrorCode | ClientErrorCode | (string & {})
  /** The family of the code. */
  type: ErrorType | 'client_error'
  /** Whether the same request may succeed later without being changed. */
  retryable: boolean
  /** Quote it when you ask for help. Undefined if no response arrived. */
  requestId?: string | undefined
  /** The HTTP status. Undefined if no response arrived. */
  status?: number | undefined
  /** One entry for each field that was not acceptable. */
  details?: readonly ErrorDetail[]
  /** Where the code is explained. */
  docUrl?: string | undefined
  /** How long the service asks to wait before the next request. */
  retryAfterMs?: number | undefined
}

/** The codes of failures that the service did not report. */
export type ClientErrorCode =
  /** A value of the call cannot be sent, such as an empty uuid. No request was sent. */
  | 'invalid_argument'
  /** No response, or only a part of one. The request may have been executed. */
  | 'connection_failed'
  /** No complete response within timeoutMs. The request may have been executed. */
  | 'timeout'
  /** A response that is not from Cowry, such as the error page of a proxy. */
  | 'unexpected_response'
  /** A webhook whose signature, timestamp or headers are not acceptable. */
  | 'invalid_signature'

export class CowryError extends Error {
  readonly code: CowryErrorFields['code']
  readonly type: CowryErrorFields['type']
  readonly retryable: boolean
  readonly requestId: string | undefined
  readonly status: number | undefined
  readonly details: readonly ErrorDetail[]
  readonly docUrl: string | undefined
  readonly retryAfterMs: number | undefined

  constructor(message: string, fields: CowryErrorFields, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.name = 'CowryError'
    this.code = fields.code
    this.type = fields.type
    this.retryable = fields.retryable
    this.requestId = fields.requestId
    this.status = fields.status
    this.details = fields.details ?? []
    this.docUrl = fields.docUrl
    this.retryAfterMs = fields.retryAfterMs
  }
}

/** A value of the call cannot be sent: correct the program. `code` is invalid_argument. */
export class CowryArgumentError extends CowryError {
  constructor(message: string) {
    super(message, { code: 'invalid_argument', type: 'client_error', retryable: false })
    this.name = 'CowryArgumentError'
  }
}

/** No complete response: `code` is connection_failed or timeout. After all retries the outcome is not known. */
export class CowryConnectionError extends CowryError {
  constructor(code: 'connection_failed' | 'timeout', message: string, cause?: unknown) {
    super(message, { code, type: 'client_error', retryable: true }, cause)
    this.name = 'CowryConnectionError'
  }
}

/** The webhook is forged, too old, or signed with another secret. Answer 400 and do not read its content. */
export class CowrySignatureError extends CowryError {
  constructor(message: string) {
    super(message, { code: 'invalid_signature', type: 'client_error', retryable: false })
    this.name = 'CowrySignatureError'
  }
}
