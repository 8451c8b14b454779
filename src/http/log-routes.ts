// GET /admin/v1/logs: the latest log lines of all processes that share the port. Behind a load balancer each machine
// has its own lines. To read on, a client sends the position of each process and gets the newer lines of the
// processes that respond.

import { type Static, Type } from 'typebox'
import { type OperatorRoute, ok, operatorRoute } from '../kit/http/route.ts'
import { Enum, Metadata, Timestamp, Uuid, UuidInput } from '../kit/http/schema.ts'
import { LINE_LEVELS, type ProcessLines } from '../kit/observability/recent-lines.ts'
import type { HttpShellOptions } from './options.ts'

export const LOGS_PATH = '/admin/v1/logs'

const MAX_LINES = 500
const READ_POSITION = '[0-9a-f-]{36}:[0-9]{1,15}'

const LogsQuery = Type.Object({
  /** `process:next` of each process in the last response, separated by commas. */
  after: Type.Optional(
    Type.String({ pattern: `^${READ_POSITION}(?:,${READ_POSITION})*$`, maxLength: 4_000 }),
  ),
  level: Type.Optional(Enum(LINE_LEVELS, { default: 'debug' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: MAX_LINES, default: 100 })),
  merchant: Type.Optional(UuidInput),
  requestId: Type.Optional(Type.String({ minLength: 1, maxLength: 128 })),
})

const LogsResponse = Type.Object({
  processes: Type.Array(
    Type.Object({
      /** Changes at a restart, when the sequence numbers begin again. */
      process: Uuid,
      /** The oldest line that the process still keeps. */
      oldest: Type.Integer(),
      latest: Type.Integer(),
      /** The position to send for the next read. */
      next: Type.Integer(),
    }),
  ),
  lines: Type.Array(
    Type.Object({
      process: Uuid,
      sequence: Type.Integer(),
      at: Timestamp,
      level: Enum(LINE_LEVELS),
      key: Type.String(),
      message: Type.String(),
      fields: Metadata,
    }),
  ),
})

export function logRoutes({ readLines }: HttpShellOptions): OperatorRoute[] {
  return readLines ? [logRoute(readLines)] : []
}

const logRoute = (readLines: NonNullable<HttpShellOptions['readLines']>): OperatorRoute =>
  operatorRoute({
    method: 'GET',
    path: LOGS_PATH,
    summary: 'Read the last lines of the log of the processes that share this address',
    query: LogsQuery,
    response: { http: 200, data: LogsResponse },
    errors: [],
    handle: async ({ query }) => {
      const { level = 'debug', limit = 100, merchant, requestId } = query
      const after = parseReadPositions(query)
      const found = await readLines({ after, level, limit, merchantId: merchant, requestId })
      const lines = sortLines(found)
      return ok('Lines of the log.', {
        processes: found.map(({ lines: _, ...process }) => process),
        // A first read gets the latest lines of all processes; a later read gets every new line.
        lines: after ? lines : lines.slice(-limit),
      })
    },
  })

function parseReadPositions({ after }: Static<typeof LogsQuery>): Record<string, number> | null {
  if (after === undefined) return null
  return Object.fromEntries(
    after.split(',').map((part) => {
      const [process = '', next] = part.split(':')
      return [process, Number(next)]
    }),
  )
}

function sortLines(found: readonly ProcessLines[]) {
  return (
    found
      .flatMap(({ process, lines }) => lines.map((line) => ({ process, ...line })))
      // Without this filter, a client that follows the log would read its own requests.
      .filter(({ fields }) => fields.route !== LOGS_PATH || fields.http !== 200)
      .sort((one, other) => Date.parse(one.at) - Date.parse(other.at))
  )
}
