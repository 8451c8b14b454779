// The operators' endpoints of cells, under /admin/v1.

import { Type } from 'typebox'
import { singlePage } from '../core/page.ts'
import { created, listed, type OperatorRoute, ok, operatorRoute } from '../kit/http/route.ts'
import { count, flag, NamedEnum, namedObject, text } from '../kit/http/schema.ts'
import { activateCell, removeCell, setCellUrl } from './change.ts'
import { drainCell } from './moves/start.ts'
import { addCell, type CellsApp, listCells } from './register.ts'

const cellName = (description: string) =>
  Type.String({
    pattern: '^[a-z0-9][a-z0-9-]{0,30}$',
    description,
    'x-message':
      'must be 1 to 31 lower-case letters, digits and hyphens, and begin with a letter or a digit, such as west-1.',
  })

const CellRecord = namedObject(
  'Cell',
  {
    name: text('The name of the cell. The database of the instance is `main`.', 'west-1'),
    state: NamedEnum('CellState', ['added', 'active', 'draining', 'removed'], {
      description:
        'New merchants are placed in active cells only. A removed one stays in the list, because its name is not given again.',
    }),
    merchants: count('How many merchants it has. The count stops at 100,000.'),
    refused: Type.Array(Type.String({ format: 'uuid' }), {
      description:
        'The merchants whose move to another cell is refused, at most 100. Each move has the problem.',
    }),
    delayed: Type.Array(Type.String({ format: 'uuid' }), {
      description:
        'The merchants whose move has failed, mostly because a cell does not answer, and is tried again, at most 100. Others are moved meanwhile.',
    }),
    waiting: Type.Array(Type.String({ format: 'uuid' }), {
      description:
        'The merchants that are not moved out of the cell before the old copy of their last move is deleted, at most 100.',
    }),
    isKnown: flag(
      'Whether the process that answers was started since the cell was added. Start every process again if not. False also of a removed cell.',
    ),
    isUp: flag('Whether the process that answers can use it now.'),
  },
  { description: 'A database with the data of merchants.' },
)

const NONE = { refused: [], delayed: [], waiting: [] }
const EXAMPLE = {
  name: 'west-1',
  state: 'active',
  merchants: 240,
  ...NONE,
  isKnown: true,
  isUp: true,
} as const

const AddBody = namedObject('AddCellRequest', {
  name: cellName('Lower-case letters, digits and hyphens, at most 31.'),
  url: Type.String({
    minLength: 1,
    maxLength: 2_000,
    description: 'The URL of an empty PostgreSQL database. It is stored encrypted.',
  }),
  isCitus: Type.Optional(
    Type.Boolean({
      description:
        'The URL is of the coordinator of a Citus cluster. The cell becomes a distributed schema of that database.',
    }),
  ),
})

const UrlBody = namedObject('SetCellUrlRequest', {
  url: Type.String({
    minLength: 1,
    maxLength: 2_000,
    description: 'The new URL of the same database. It is stored encrypted.',
  }),
  isCitus: Type.Optional(
    Type.Boolean({
      description: 'The URL is of the coordinator of a Citus cluster, as when the cell was added.',
    }),
  ),
})

const NameParams = Type.Object({
  name: cellName('The name of the cell.'),
})

export function cellRoutes(app: CellsApp): OperatorRoute[] {
  return [
    operatorRoute({
      method: 'GET',
      path: '/admin/v1/cells',
      operationId: 'cells.list',
      summary: 'List the databases with the data of merchants',
      description: 'Each is asked whether it takes statements.',
      response: { http: 200, data: CellRecord, list: true },
      errors: [],
      examples: { data: EXAMPLE },
      handle: async () => {
        const cells = (await listCells(app)).map(toRecord)
        return listed('Cells.', cells, singlePage(cells.length))
      },
    }),
    operatorRoute({
      method: 'POST',
      path: '/admin/v1/cells',
      operationId: 'cells.add',
      summary: 'Add a database for the data of merchants',
      description: 'It is migrated and registered. Start every process again, then activate it.',
      body: AddBody,
      response: { http: 201, data: CellRecord },
      errors: ['validation_failed'],
      examples: {
        body: { name: 'west-1', url: 'postgres://cowry:secret@west-1.example.com/cowry' },
      },
      handle: async ({ body }) => {
        const cell = await addCell(app, body)
        return created(
          'Cell added.',
          toRecord({ ...cell, merchants: 0, ...NONE, isKnown: false, isUp: false }),
        )
      },
    }),
    operatorRoute({
      method: 'POST',
      path: '/admin/v1/cells/{name}/activate',
      operationId: 'cells.activate',
      summary: 'Place new merchants in a cell',
      description:
        'Refused while a running process was started before the cell was added, which the message names, and while the user of the cell may not set `session_replication_role`, because the cell could not be drained later.',
      params: NameParams,
      response: { http: 200, data: CellRecord },
      errors: ['validation_failed'],
      handle: async ({ params }) => ok('Cell activated.', toRecord(await activateCell(app, params.name))),
    }),
    operatorRoute({
      method: 'POST',
      path: '/admin/v1/cells/{name}/drain',
      operationId: 'cells.drain',
      summary: 'Move every merchant out of a cell',
      description:
        'No new merchants are placed in it. A job moves its merchants to the active cells that answer, one after another.',
      params: NameParams,
      response: { http: 200, data: CellRecord },
      errors: ['validation_failed'],
      handle: async ({ params }) =>
        ok('The cell is being drained.', toRecord(await drainCell(app, params.name))),
    }),
    operatorRoute({
      method: 'POST',
      path: '/admin/v1/cells/{name}/remove',
      operationId: 'cells.remove',
      summary: 'Remove a cell without merchants from the register',
      description:
        'Refused while merchants or moves are in it. Its database is left as it is, and its name and number are not given again.',
      params: NameParams,
      response: { http: 200, data: CellRecord },
      errors: ['validation_failed'],
      handle: async ({ params }) => {
        const { cell, isEverywhere } = await removeCell(app, params.name)
        return ok(isEverywhere ? 'Cell removed.' : `Cell removed. ${NOT_EVERYWHERE}`, toRecord(cell))
      },
    }),
    operatorRoute({
      method: 'POST',
      path: '/admin/v1/cells/{name}/url',
      operationId: 'cells.setUrl',
      summary: 'Change the URL of a cell',
      description:
        'For the same database at another address, or with another user or password. It is refused if the database is not this cell of this instance. Every process opens it without a restart.',
      params: NameParams,
      body: UrlBody,
      response: { http: 200, data: CellRecord },
      errors: ['validation_failed'],
      examples: { body: { url: 'postgres://cowry:secret@west-2.example.com/cowry' } },
      handle: async ({ params, body }) => {
        const { cell, isEverywhere } = await setCellUrl(app, params.name, body)
        return ok(isEverywhere ? 'URL changed.' : `URL changed. ${NOT_EVERYWHERE}`, toRecord(cell))
      },
    }),
  ]
}

const NOT_EVERYWHERE =
  'A process does not act on it yet: start those again that were started before the cell was added.'

function toRecord(cell: Awaited<ReturnType<typeof listCells>>[number]) {
  const { name, state, merchants, refused, delayed, waiting, isKnown, isUp } = cell
  return { name, state, merchants, refused, delayed, waiting, isKnown, isUp }
}
