// Settlement files that were compared with our records: of the merchant's own accounts, or for operators of every account.

import type { Static } from 'typebox'
import { html } from '../../../kit/http/html.ts'
import type { ReconciliationRecord } from '../../../reconciliation/schema.ts'
import type { Area } from '../../frame/area.ts'
import { badge, written } from '../../frame/components.ts'
import { listScreens } from '../../frame/list-screen.ts'
import type { AreaRequest, Screen } from '../../frame/screen.ts'
import { breakScreens } from './breaks.ts'
import { uploadScreens } from './upload.ts'

type File = Static<typeof ReconciliationRecord>

export const reconciliationScreens = (base: Area['path']): Screen<AreaRequest>[] => [
  ...listScreens<File, AreaRequest>({
    path: '/reconciliations',
    title: 'opsFilesTitle',
    list: 'reconciliations.list',
    filters: [{ name: 'gateway', label: 'gateway' }],
    columns: (texts) => [
      {
        label: texts.t('opsFile'),
        isTitle: true,
        cell: ({ uuid, fileName, gateway }) =>
          html`<a class="row" href="${base}/breaks?reconciliation=${uuid}&amp;state=all">${written(fileName ?? uuid)}</a><span class="sub">${gateway}</span>`,
      },
      { label: texts.t('status'), isBeside: true, cell: ({ status }) => badge(texts, status) },
      { label: texts.t('opsRows'), isNumber: true, cell: ({ rows }) => texts.number(rows) },
      { label: texts.t('opsMatched'), isNumber: true, cell: ({ matched }) => texts.number(matched) },
      { label: texts.t('fileSettled'), isNumber: true, cell: ({ settled }) => texts.number(settled) },
      { label: texts.t('opsBreaks'), isNumber: true, cell: ({ breaks }) => texts.number(breaks) },
      { label: texts.t('created'), cell: ({ createdAt }) => texts.time(createdAt) },
    ],
    emptyTitle: 'opsNoFilesTitle',
    emptyText: 'opsNoFilesText',
    actions: ({ allows, texts: { t } }) =>
      html`<a class="button plain" href="${base}/breaks">${t('opsBreaks')}</a> ${allows('reconciliations.create') && html`<a class="button" href="${base}/reconciliations/new">${t('fileUpload')}</a>`}`,
  }),
  ...uploadScreens(base),
  ...breakScreens(base),
]
