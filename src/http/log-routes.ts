// GET /admin/v1/logs: the latest log lines of all processes that share the port. Behind a load balancer each machine
// has its own lines. To read on, a client sends the position of each process and gets the newer lines of the
// processes that respond.

import { type Static, Type } from 'typebox'
import { LONGEST_REQUEST_ID } from '../core/text/formats.ts'
import { type OperatorRoute, ok, operatorRoute } from '../kit/http/route.ts'
import {
  count,
  described,
  Metadata,
  NamedEnum,
  namedObject,
  text,
  timestamp,
  Uuid,
  UuidInput,
} from '../kit/http/schema.ts'
import { LINE_LEVELS, type ProcessLines } from '../kit/observability/recent-lines.ts'
import type { HttpShellOptions } from './options.ts'

export const LOGS_PATH = '/admin/v1/logs'

const MAX_LINES = 500
const READ_POSITION = '[0-9a-f-]{36}:[0-9]{1,15}'

const LogsQuery = Type.Object({
  after: Type.Optional(
    Type.String({
      pattern: `^${READ_POSITION}(?:,${READ_POSITION})*$`,
      maxLength: 4_000,
      description:
        '`process:next` of each process in the last response, separated by commas: only newer lines. Absent: the latest lines.',
    }),
  ),
  level: Type.Optional(
    NamedEnum('LogLevel', LINE_LEVELS, {
      default: 'debug',
      description: 'Only lines of this level and more severe ones.',
    }),
  ),
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: MAX_LINES, default: 100, description: 'The number of lines.' }),
  ),
  merchant: Type.Optional(described(UuidInput, 'Only lines about the merchant with this uuid.')),
  requestId: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: LONGEST_REQUEST_ID,
      description: 'Only lines of the request with this X-Request-Id.',
    }),
  ),
})

const LogsResponse = namedObject(
  'Logs',
  {
    processes: Type.Array(
      namedObject('LogProcess', {
        process: described(
          Uuid,
          'The id of the process. It changes at a restart, when the sequence numbers begin again.',
        ),
        oldest: count('The sequence number of the oldest line that the process still keeps.'),
        latest: count('The sequence number of its latest line.'),
        next: count('The position to send for the next read.'),
      }),
      { description: 'The processes that share this address and responded.' },
    ),
    lines: Type.Array(
      namedObject('LogLine', {
        process: described(Uuid, 'The id of the process that wrote the line.'),
        sequence: count('The number of the line in its process. It increases by one with each line.'),
        at: timestamp('When the line was written, in UTC.'),
        level: NamedEnum('LogLevel', LINE_LEVELS, { description: 'How severe it is.' }),
        key: text('The stable key of the line: /docs/logs lists them.', 'attempt.outcome_unknown'),
        message: text('What happened, for people. It may change.'),
        fields: described(Metadata, 'The facts of the line by their names.'),
      }),
      { description: 'The lines of all processes, oldest first.' },
    ),
  },
  { description: 'The latest log lines.' },
)

const PROCESS = '0197a3c1-02a7-7a61-9882-25ce2e087756'

const LOGS_EXAMPLE = {
  processes: [{ process: PROCESS, oldest: 1, latest: 95, next: 95 }],
  lines: [
    {
      process: PROCESS,
      sequence: 95,
      at: '2026-03-14T09:26:53.589Z',
      level: 'info',
      key: 'http.request',
      message: 'request',
      fields: { method: 'POST', route: '/api/v1/refunds', http: 201, durationMs: 21 },
    },
  ],
}

export function logRoutes({ readLines }: Pick<HttpShellOptions, 'readLines'>): OperatorRoute[] {
  return readLines ? [logRoute(readLines)] : []
}

const logRoute = (readLines: NonNullable<HttpShellOptions['readLines']>): OperatorRoute =>
  operatorRoute({
    method: 'GET',
    path: LOGS_PATH,
    operationId: 'logs.get',
    summary: 'Get the latest log lines of the processes that share this address',
    description:
      'Kept in memory: about an hour of a quiet service. Send `after` to read on. Behind a load balancer each machine has its own lines.',
    query: LogsQuery,
    response: { http: 200, data: LogsResponse },
    errors: [],
    examples: { data: LOGS_EXAMPLE },
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
