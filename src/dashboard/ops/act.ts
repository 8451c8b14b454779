import { ApiError } from '../../core/errors.ts'
import type { ScreenResponse } from '../frame/screen.ts'

/** Runs a form; what the API refuses is shown by the screen of the form. */
export async function act(
  work: () => Promise<ScreenResponse>,
  refused: (problem: ApiError) => Promise<ScreenResponse>,
): Promise<ScreenResponse> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ApiError) return refused(error)
    throw error
  }
}
