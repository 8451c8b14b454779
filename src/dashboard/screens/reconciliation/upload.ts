// The upload of a settlement file: compared only, or reconciled.

import type { Static } from 'typebox'
import { ApiError } from '../../../core/errors.ts'
import { type Html, html } from '../../../kit/http/html.ts'
import { startOfDay, startOfNextDay } from '../../../kit/time-zone.ts'
import { FORMATS } from '../../../reconciliation/formats.ts'
import type { PreviewRecord, ReconciliationRecord } from '../../../reconciliation/schema.ts'
import type { Area } from '../../frame/area.ts'
import { field, notice, problemNotice, table, written } from '../../frame/components.ts'
import { fieldErrors, orShowProblem, selectField } from '../../frame/form-input.ts'
import type { AreaRequest, Screen, ScreenResponse } from '../../frame/screen.ts'
import type { Texts } from '../../frame/texts.ts'
import { amountOf } from './breaks.ts'

type Preview = Static<typeof PreviewRecord>
type File = Static<typeof ReconciliationRecord>

// A file of 6 MB, and the fields.
const FORM_LIMIT = 6 * 1024 * 1024 + 16_384
// The others are listed once the file is reconciled.
const SHOWN_BREAKS = 100

export const uploadScreens = (base: Area['path']): Screen<AreaRequest>[] => [
  {
    method: 'GET',
    path: '/reconciliations/new',
    needs: ['reconciliations.create', ...(base === '/app' ? (['reconciliations.accounts'] as const) : [])],
    handle: (request) => show(request),
  },
  {
    method: 'POST',
    path: '/reconciliations/new',
    needs: ['reconciliations.create', 'reconciliations.preview'],
    uploadLimitBytes: FORM_LIMIT,
    handle: (request) =>
      orShowProblem(
        () => submit(request),
        (problem) => show(request, { problem }),
      ),
  },
]

async function submit(request: AreaRequest): Promise<ScreenResponse> {
  const { base, call, form } = request
  const body = readForm(request)
  if (form.action === 'preview') {
    // Boundaries: the operations return records of their schemas.
    const preview = (await call('reconciliations.preview', { body })).data as Preview
    return show(request, { preview })
  }
  const { uuid } = (await call('reconciliations.create', { body })).data as File
  return { redirectTo: `${base}/breaks?reconciliation=${uuid}&state=all&done=file` }
}

function readForm({ base, form, files: { file }, texts: { t, zone } }: AreaRequest) {
  if (!file) {
    const message = t('fileCsvMissing')
    const details = [{ field: 'content', code: 'required', message }]
    throw new ApiError('validation_failed', { message, details })
  }
  const { gateway = '', format = '', merchant, coversFrom, coversTo } = form
  return {
    ...{ gateway, format, content: file.bytes.toString('base64') },
    ...(file.name.trim() && { fileName: file.name.slice(0, 200) }),
    ...(base === '/ops' && merchant && { merchant }),
    ...(coversFrom && { coversFrom: startOfDay(coversFrom, zone) }),
    ...(coversTo && { coversTo: startOfNextDay(coversTo, zone) }),
  }
}

async function show(
  request: AreaRequest,
  { problem, preview }: { problem?: ApiError; preview?: Preview } = {},
): Promise<ScreenResponse> {
  const { base, texts, uploadForm } = request
  const { t } = texts
  const accounts = await listAccounts(request)
  const title = t('fileUploadTitle')
  const form =
    accounts.length === 0
      ? notice('neutral', html`<p>${t('fileOwnAccountsOnly')}</p>`)
      : html`<section class="card"><p>${t('fileUploadText')}</p>${uploadForm(`${base}/reconciliations/new`, fields(request, accounts, problem))}</section>`
  const body = html`<div class="head"><h1>${title}</h1></div>${problemNotice(problem, labelsOf(texts))}${preview && previewed(preview, request)}${form}`
  return { title, body, http: problem ? 422 : 200 }
}

const labelsOf = ({ t }: Texts) => ({
  gateway: t('fileAccount'),
  merchant: t('fileMerchant'),
  format: t('fileFormat'),
  // The API calls the bytes of the file its content.
  content: t('fileCsv'),
  fileName: t('fileCsv'),
  coversFrom: t('fileFrom'),
  coversTo: t('fileTo'),
})

interface Gateway {
  gateway: string
  title: string
}

/** Those of the merchant, or for operators every gateway. */
async function listAccounts({ base, call, allows }: AreaRequest): Promise<Gateway[]> {
  // Boundaries: the operations return records with these fields, and names.
  if (base === '/ops') return (await call('gateways.list')).data as Gateway[]
  const names = (await call('reconciliations.accounts')).data as string[]
  const known = allows('ownGateways.list') ? ((await call('ownGateways.list')).data as Gateway[]) : []
  return names.map((gateway) => known.find((one) => one.gateway === gateway) ?? { gateway, title: gateway })
}

function fields(
  { base, form, texts }: AreaRequest,
  accounts: readonly Gateway[],
  problem: ApiError | undefined,
): Html {
  const { t } = texts
  const errors = fieldErrors(problem, labelsOf(texts))
  const gateways = accounts.map(({ gateway, title }) => ({ value: gateway, label: title }))
  const formats = FORMATS.map((value) => ({ value, label: texts.word('format', value) }))
  return html`${selectField('gateway', t('fileAccount'), gateways, { value: form.gateway, error: errors.gateway })}
${base === '/ops' && field('merchant', t('fileMerchant'), { value: form.merchant ?? '', hint: t('fileMerchantHint'), error: errors.merchant })}
${selectField('format', t('fileFormat'), formats, { value: form.format, error: errors.format })}
${field('file', t('fileCsv'), { type: 'file', hint: t('fileCsvHint'), error: errors.content ?? errors.fileName })}
${field('coversFrom', t('fileFrom'), { type: 'date', value: form.coversFrom ?? '', error: errors.coversFrom })}
${field('coversTo', t('fileTo'), { type: 'date', value: form.coversTo ?? '', hint: t('filePeriodHint'), error: errors.coversTo })}
<button>${t('fileReconcile')}</button> <button class="plain" name="action" value="preview">${t('filePreview')}</button>`
}

function previewed({ matched, breaks, breaksFound }: Preview, { texts }: AreaRequest): Html {
  const { t } = texts
  const rows = breaksFound.slice(0, SHOWN_BREAKS)
  return html`${notice('neutral', html`<p>${t('filePreviewed', { matched, breaks })}</p>`)}${
    rows.length > 0 &&
    table(
      t('opsBreaks'),
      [
        {
          label: t('opsBreak'),
          isTitle: true,
          cell: ({ kind, subject }) =>
            html`<b>${texts.word('break', kind)}</b><span class="sub">${written(subject)}</span>`,
        },
        { label: t('opsOurs'), isNumber: true, cell: ({ ours }) => amountOf(ours, texts) },
        { label: t('opsTheirs'), isNumber: true, cell: ({ theirs }) => amountOf(theirs, texts) },
      ],
      rows,
    )
  }`
}
