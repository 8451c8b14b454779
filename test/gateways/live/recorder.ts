// Records the calls of a connector, and the webhooks that arrive, for the transcript.

import type { HttpClient } from '../../../src/kit/http/http-client.ts'
import { redactBody, redactText, type Secrets } from './redact.ts'

export interface RecordedCall {
  /** Method and path, without the host. */
  request: string
  body: unknown
  /** The HTTP status, or why there is none. */
  status: string
  answer: unknown
  ms: number
}

export interface Recorder {
  http: HttpClient
  /** The calls since the last time it was asked. */
  take(): RecordedCall[]
}

export function createRecorder(http: HttpClient, secrets: Secrets): Recorder {
  let calls: RecordedCall[] = []
  return {
    http: {
      ...http,
      async request(request) {
        const startedAt = performance.now()
        const result = await http.request(request)
        const { pathname, search } = new URL(request.url)
        calls.push({
          request: redactText(`${request.method} ${pathname}${search}`, secrets),
          body: redactBody(request.body?.toString() ?? '', secrets),
          status: result.kind === 'answered' ? String(result.status) : `${result.kind} (${result.code})`,
          answer: result.kind === 'answered' ? redactBody(result.body.toString(), secrets) : null,
          ms: Math.round(performance.now() - startedAt),
        })
        return result
      },
    },
    take() {
      const taken = calls
      calls = []
      return taken
    },
  }
}
