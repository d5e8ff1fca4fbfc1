# SPDX-License-Identifier: GPL-2.0-only
# Move the one-byte members of struct hrtimer right behind its queue node.
/^struct hrtimer \{/	{ inside = 1 }
/^};/			{ if (inside) printf "%s", rest; inside = 0 }
inside && !/\tu8\t|timerqueue_node|struct hrtimer \{|^#/ { rest = rest $0 "\n"; next }
			{ print }
