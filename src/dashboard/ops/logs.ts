// The latest log lines of the processes that share this address, newest first.

import { html } from '../../kit/http/html.ts'
import { LINE_LEVELS } from '../../kit/observability/recent-lines.ts'
import { badge, empty, select, table, textFilter, written } from '../frame/components.ts'
import type { AreaRequest, Screen } from '../frame/screen.ts'
import { dataOf } from './data.ts'

interface Line {
  at: string
  level: string
  key: string
  message: string
  fields: Record<string, unknown>
}

const PATH = '/ops/logs'
const LINES = '100'

export const logScreen: Screen<AreaRequest> = {
  method: 'GET',
  path: '/logs',
  needs: ['logs.get'],
  handle: async (request) => {
    const { texts, query } = request
    const { t } = texts
    const { level, merchant, requestId } = query
    const input = { query: { level, merchant, requestId, limit: LINES } }
    const { lines } = await dataOf<{ lines: Line[] }>(request, 'logs.get', input)
    const title = t('opsLogsTitle')
    const levels = [
      { value: '', label: t('all') },
      ...LINE_LEVELS.map((value) => ({ value, label: texts.word('level', value) })),
    ]
    const body = html`<div class="head"><h1>${title}</h1></div>
<form class="filters" method="get" action="${PATH}">${select('level', t('opsLevel'), level, levels)}${textFilter('requestId', t('opsRequestId'), { value: requestId })}${textFilter('merchant', t('opsMerchantId'), { value: merchant })}
<div class="go"><button>${t('filter')}</button>${(level || requestId || merchant) && html` <a class="button plain" href="${PATH}">${t('clear')}</a>`}</div></form>
${lines.length === 0 ? empty(t('opsNoLinesTitle'), t('opsNoLinesText')) : linesTable(request, lines.toReversed())}`
    return { title, body }
  },
}

function linesTable({ texts }: AreaRequest, lines: readonly Line[]) {
  const { t } = texts
  return table(
    t('opsLogsTitle'),
    [
      {
        label: t('opsLine'),
        isTitle: true,
        cell: ({ key, message }) => html`<code>${key}</code><span class="sub">${written(message)}</span>`,
      },
      { label: t('opsLevel'), isBeside: true, cell: ({ level }) => badge(texts, level) },
      { label: t('opsTime'), cell: ({ at }) => texts.time(at) },
      { label: t('opsFacts'), cell: ({ fields }) => html`<code>${written(JSON.stringify(fields))}</code>` },
    ],
    lines,
  )
}
