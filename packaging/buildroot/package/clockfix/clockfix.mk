################################################################################
#
# clockfix
#
################################################################################

CLOCKFIX_VERSION = 1.0.0
CLOCKFIX_SITE = $(BR2_EXTERNAL_TIMERSHIELD_PATH)/../../clockfix
CLOCKFIX_SITE_METHOD = local
CLOCKFIX_LICENSE = LGPL-2.1-or-later
CLOCKFIX_INSTALL_STAGING = YES

$(eval $(meson-package))
