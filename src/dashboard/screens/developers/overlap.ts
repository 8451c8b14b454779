// For how long the old key or secret works beside the new one.

import type { Html } from '../../../kit/http/html.ts'
import { select } from '../../frame/components.ts'
import type { ScreenRequest } from '../../frame/screen.ts'

const HOURS = ['24', '168', '0']

export function overlapField({ texts, form }: ScreenRequest): Html {
  const choices = HOURS.map((value) => ({ value, label: texts.word('overlap', value) }))
  return select('overlapHours', texts.t('overlap'), form.overlapHours ?? '24', choices)
}

/** The API refuses a text that is no number. */
export function overlapInput({ form: { overlapHours = '24' } }: ScreenRequest) {
  return { overlapHours: /^\d+$/.test(overlapHours) ? Number(overlapHours) : overlapHours }
}
