// A list of the API as a screen: filters in the address, a table, pages by cursor, and the export of what is shown.

import type { ApiError } from '../../core/errors.ts'
import { isUuid } from '../../core/ids.ts'
import { type Html, html } from '../../kit/http/html.ts'
import type { OperationId, RouteResponse } from '../../kit/http/route.ts'
import { endOfDay, startOfDay } from '../../kit/time-zone.ts'
import type { TextId } from '../locales/en.ts'
import {
  addressWith,
  type Choice,
  type Column,
  empty,
  pager,
  problemNotice,
  searchNotice,
  select,
  table,
  textFilter,
  unavailableNotice,
} from './components.ts'
import { fieldErrors } from './form-input.ts'
import { isAbout, type Labels } from './issues.ts'
import type { AreaRequest, Screen, ScreenRequest, ScreenResponse } from './screen.ts'
import type { Texts } from './texts.ts'

interface Filter {
  /** The query parameter of the operation. */
  name: string
  label: TextId
  /** The values and their texts: `${prefix}_${value}`, or the value itself. Absent: a field for text. */
  values?: readonly string[]
  prefix?: string
  /** Values that depend on the merchant. */
  choices?(request: AreaRequest): Promise<Choice[]>
  type?: 'search' | 'date'
  isId?: boolean
  /** The value while the address has none. */
  initial?: string
  /** Without the choice of every value. */
  isRequired?: boolean
}

/** The choice of every value where the filter has an initial one. */
const ALL = 'all'

export interface ListScreen<Row, Request extends AreaRequest = ScreenRequest> {
  /** Below the path of the area. */
  path: string
  /** May depend on what the person may do. */
  title: TextId | ((request: Request) => TextId)
  list: OperationId
  exports?: OperationId
  /** The operation returns the whole list: it takes no page. */
  isWhole?: boolean
  /** The order, where it is not that of the operation. */
  sort?: string
  /** The rows of a page, if they are so long that 50 would be too heavy. */
  rows?: number
  filters: readonly Filter[]
  columns(texts: Texts, request: Request): Column<Row>[] | Promise<Column<Row>[]>
  emptyTitle: TextId
  emptyText: TextId
  /** Buttons beside the title. */
  actions?(request: Request): Html | null
  /** Links to saved filters, folded with the filters on a phone. */
  views?(request: Request): Promise<Html>
  /** What stands between the title and the filters. */
  intro?(request: Request): Promise<Html | null>
  /** What stands below the list. */
  outro?(request: Request): Promise<Html | null>
}

const ROWS = 50

export function listScreens<Row, Request extends AreaRequest = ScreenRequest>(
  screen: ListScreen<Row, Request>,
): Screen<Request>[] {
  const { path, list, exports } = screen
  const download: Screen<Request>[] = exports
    ? [
        {
          method: 'GET',
          path: `${path}/export`,
          needs: [exports],
          handle: (request) => exportRows(exports, screen, request),
        },
      ]
    : []
  return [{ method: 'GET', path, needs: [list], handle: (request) => show(screen, request) }, ...download]
}

function queryOf(
  { filters }: { filters: readonly Filter[] },
  { query, texts }: Pick<AreaRequest, 'query' | 'texts'>,
): Record<string, string | undefined> {
  return Object.fromEntries(
    filters.map((filter) => {
      const { name, type } = filter
      const value = chosenOf(filter, query)
      if (value === ALL && filter.initial !== undefined && !filter.isRequired) return [name, undefined]
      if (filter.isId) return [name, value && asId(value)]
      return [name, type === 'date' && value ? wholeDay(name, value, texts.zone) : value]
    }),
  )
}

function chosenOf({ name, initial }: Filter, query: AreaRequest['query']): string | undefined {
  return query[name]?.trim() ?? initial
}

/** Programs write UUIDs in upper case too. Ids of another form stay as they are. */
function asId(value: string): string {
  const lower = value.toLowerCase()
  return isUuid(lower) ? lower : value
}

/** The first or last moment of a day. The API takes times. */
function wholeDay(name: string, day: string, zone: string): string {
  return name.endsWith('To') ? endOfDay(day, zone) : startOfDay(day, zone)
}

const labelsOf = ({ filters }: { filters: readonly Filter[] }, { t }: Texts): Labels =>
  Object.fromEntries(filters.map(({ name, label }) => [name, t(label)]))

/** What is wrong with a filter is said by the screen. */
async function exportRows(
  operation: OperationId,
  screen: { path: string; filters: readonly Filter[] },
  request: AreaRequest,
): Promise<ScreenResponse> {
  const { base, call, query, texts } = request
  const ask = () => call(operation, { query: queryOf(screen, request) })
  const { answer, problem } = await orProblem(ask, labelsOf(screen, texts))
  if (problem) return { redirectTo: addressWith(`${base}${screen.path}`, query, {}) }
  if (!answer?.file) throw new Error(`${operation} returned no file`)
  return { file: answer.file }
}

async function show<Row, Request extends AreaRequest>(screen: ListScreen<Row, Request>, request: Request) {
  const { base, call, allows, query, texts } = request
  const { t } = texts
  const path = `${base}${screen.path}`
  const title = t(typeof screen.title === 'function' ? screen.title(request) : screen.title)
  const page = screen.isWhole
    ? {}
    : { cursor: query.cursor, page: query.page, limit: String(screen.rows ?? ROWS) }
  const input = { ...queryOf(screen, request), ...page, ...(screen.sort && { sort: screen.sort }) }
  const labels = labelsOf(screen, texts)
  const [listed, introduced, outro, views] = await Promise.all([
    orProblem(() => call(screen.list, { query: input }), labels),
    orProblem(async () => screen.intro?.(request), labels),
    screen.outro?.(request),
    screen.views?.(request),
  ])
  const problem = listed.problem ?? introduced.problem
  const { data = [], meta }: Partial<RouteResponse> = listed.answer ?? {}
  const errors = fieldErrors(problem, labels)
  const form = screen.filters.length > 0 && (await filterForm(screen, request, errors))
  // A boundary: the operation returns records of its schema, and the screen names their type.
  const rows = data as Row[]
  const columns = rows.length === 0 ? [] : await screen.columns(texts, request)
  const canExport = screen.exports !== undefined && allows(screen.exports)
  const body = html`<div class="head"><h1>${title}</h1><div class="actions">${screen.actions?.(request)}${
    canExport &&
    html`<a class="button plain" href="${addressWith(`${path}/export`, query, { cursor: undefined, page: undefined })}">${t('export')}</a>`
  }</div></div>
${introduced.answer}
${problemNotice(problem, labels)}
${form && folded(screen.filters, request, html`${views}${form}`, problem !== undefined)}
${searchNotice(texts, meta)}${unavailableNotice(texts, meta)}
${problem ? null : rows.length === 0 ? empty(t(screen.emptyTitle), t(screen.emptyText)) : table(title, columns, rows)}
${meta && (rows.length > 0 || meta.hasNext) && pager(texts, path, query, meta)}${outro}`
  return { title, body, http: problem ? 422 : 200 }
}

/** On a phone the list comes first, and one line says how many filters are chosen. The style opens it elsewhere. */
function folded(
  filters: readonly Filter[],
  { query, texts }: AreaRequest,
  body: Html,
  isOpen: boolean,
): Html {
  const chosen = filters.filter(({ name }) => query[name]).length
  return html`<details class="fold"${isOpen && html` open`}><summary>${texts.t('filtersTitle')}${chosen > 0 && html` (${texts.number(chosen)})`}</summary>${body}</details>`
}

/** The API refuses a filter that a person has written: the screen stays, with the reason. Other errors have a page of their own. */
async function orProblem<Answer>(
  ask: () => Promise<Answer>,
  labels: Labels,
): Promise<{ answer?: Answer; problem?: ApiError }> {
  try {
    return { answer: await ask() }
  } catch (error) {
    if (!isAbout(error, labels)) throw error
    return { problem: error }
  }
}

/** The filters that everybody uses are shown at once; on a phone the others would push the list off the screen. */
const SHOWN_FILTERS = 2

async function filterForm(
  { path, filters }: { path: string; filters: readonly Filter[] },
  request: AreaRequest,
  errors: Labels,
): Promise<Html> {
  const { base, query, texts } = request
  const { t } = texts
  const [shown, more] = [filters.slice(0, SHOWN_FILTERS), filters.slice(SHOWN_FILTERS)]
  const isOpen = more.some(({ name }) => query[name])
  const isFiltered = filters.some(({ name }) => query[name])
  const fields = (some: readonly Filter[]) =>
    Promise.all(some.map((filter) => filterField(filter, request, errors[filter.name])))
  return html`<form class="filters" method="get" action="${base}${path}">${await fields(shown)}
<div class="go"><button>${t('filter')}</button>${isFiltered && html` <a class="button plain" href="${base}${path}">${t('clear')}</a>`}</div>
${more.length > 0 && html`<details${isOpen && html` open`}><summary>${t('moreFilters')}</summary><div class="filters">${await fields(more)}</div></details>`}</form>`
}

async function filterField(filter: Filter, request: AreaRequest, error?: string): Promise<Html> {
  const { name, label, type, initial, isRequired } = filter
  const { query, texts } = request
  const { t } = texts
  const choices = await choicesOf(filter, request)
  if (!choices) return textFilter(name, t(label), { value: query[name] ?? '', type: type ?? 'text', error })
  const all = { value: initial === undefined ? '' : ALL, label: t('all') }
  return select(name, t(label), chosenOf(filter, query), isRequired ? choices : [all, ...choices])
}

async function choicesOf({ values, prefix, choices }: Filter, request: AreaRequest) {
  if (choices) return choices(request)
  const label = (value: string) => (prefix === undefined ? value : request.texts.word(prefix, value))
  return values?.map((value) => ({ value, label: label(value) }))
}
